"""A schema (Postgres) or database (MySQL) of selectq's own on someone's server, gone when it is no longer needed."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import sqlalchemy as sa
from sqlalchemy.schema import CreateSchema, DropSchema

from selectq import migrate
from selectq.database import check_server, connect, create_engine
from selectq.embedded import embedded_postgres
from selectq.errors import SelectqError

PREFIX = "selectq_scratch_"

logger = logging.getLogger(__name__)


@contextmanager
def scratch_database(url: str | sa.URL, migrated: bool = True) -> Iterator[sa.Engine]:
    """Make an empty place with a random name on a server, hand out an engine that works in it, and drop it afterwards.

    Nothing outside that place is read or written. It is dropped on errors and Ctrl-C too.

    Args:
        url: a database on the server. Postgres gets a schema inside that database, MySQL a database beside it.
        migrated: with selectq's tables (default), or with none.

    Yields:
        An engine whose unqualified table names mean the new place.

    Raises:
        InvalidParameterError: the URL can't be read.
        UnsupportedDatabaseError: another kind of database, or a version that is too old.
        DatabaseUnreachableError: no connection.
        SelectqError: the user may not create a schema or database there.
    """
    name = PREFIX + secrets.token_hex(6)
    server = create_engine(url, poolclass=sa.NullPool)
    try:
        with connect(server) as connection:
            check_server(connection)
        _create(server, name)
        try:
            engine = _engine_in(server, name)
            try:
                if migrated:
                    migrate.upgrade(engine)
                yield engine
            finally:
                engine.dispose()
        except BaseException:
            _drop_after_failure(server, name)
            raise
        _drop(server, name)
    finally:
        server.dispose()


@contextmanager
def scratch_or_embedded(url: str | sa.URL | None, migrated: bool = True) -> Iterator[sa.Engine]:
    """``scratch_database`` on a server of the user's, or on an embedded Postgres started for it if ``url`` is None.

    Raises:
        SelectqError: as ``scratch_database`` and ``embedded_postgres`` do.
    """
    with ExitStack() as stack:
        where = stack.enter_context(embedded_postgres()) if url is None else url
        yield stack.enter_context(scratch_database(where, migrated))


def _create(server: sa.Engine, name: str) -> None:
    try:
        with server.begin() as connection:
            connection.execute(CreateSchema(name))
    except sa.exc.DBAPIError as error:
        where = server.url.render_as_string(hide_password=True)
        raise SelectqError(f"db: cannot create {_kind(server)} {name} on {where}: {error.orig}") from error


def _drop(server: sa.Engine, name: str) -> None:
    on_mysql = server.dialect.name == "mysql"
    try:
        with server.begin() as connection:
            # MySQL knows the words DROP SCHEMA, which drop a database there, but not CASCADE.
            connection.execute(DropSchema(name, cascade=not on_mysql))
    except sa.exc.DBAPIError as error:
        raise SelectqError(f"{_kind(server)} {name} is left behind, drop it by hand: {error.orig}") from error


def _drop_after_failure(server: sa.Engine, name: str) -> None:
    """Drop, but let the first error be the one that is seen: a server that went away fails here again."""
    try:
        _drop(server, name)
    except SelectqError as error:
        logger.warning("%s", error)


def _kind(server: sa.Engine) -> str:
    return "database" if server.dialect.name == "mysql" else "schema"


def _engine_in(server: sa.Engine, name: str) -> sa.Engine:
    if server.dialect.name == "mysql":
        return create_engine(server.url.set(database=name))
    return create_engine(server.url, settings={"search_path": name})
