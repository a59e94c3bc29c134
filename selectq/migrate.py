"""Bring the tables to a revision, up or down, or print the SQL that would."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable

import sqlalchemy as sa
from alembic import command

from selectq.database import LOWEST, check_server, connect
from selectq.errors import InvalidParameterError, MigrationFailedError, SchemaVersionError
from selectq.revisions import alembic_config, position, revisions
from selectq.schema_status import Status, check_schema, explain, read_status

__all__ = ["Status", "check_schema", "downgrade", "migrate", "render_sql", "status", "upgrade"]

LOCK_KEY = int.from_bytes(b"selectq")
"""Postgres advisory lock that one migration at a time holds, per database."""

ALEMBIC = threading.Lock()
"""Alembic keeps what it works on in module globals: one thread at a time, whatever the database."""


def status(engine: sa.Engine) -> Status:
    """Look, change nothing.

    Raises:
        DatabaseUnreachableError: no connection.
        UnsupportedDatabaseError: not a server that selectq supports.
        InvalidParameterError: a MySQL URL that names no database.
    """
    with connect(engine) as connection:
        check_server(connection)
        return read_status(connection)


def upgrade(engine: sa.Engine, revision: str = "head") -> Status:
    """Apply migrations up to ``revision``; a database already there or past it is left alone.

    A second run at the same time waits for the first. On Postgres everything happens in one transaction; MySQL commits
    every table on its own.

    Returns:
        Where the database stands now.

    Raises:
        SchemaVersionError: the schema is newer, foreign or unfinished; nothing was changed.
        MigrationFailedError: the database refused a step.
        InvalidParameterError: an unknown revision, or a MySQL URL that names no database.
        DatabaseUnreachableError, UnsupportedDatabaseError: as for ``status``.
    """
    goal = position(revision)
    return move(engine, lambda here: max(here, goal))


def downgrade(engine: sa.Engine, revision: str) -> Status:
    """Take migrations back down to ``revision``; ``base`` leaves nothing of selectq. Rows in dropped tables are lost.

    Returns and raises as ``upgrade``.
    """
    goal = position(revision)
    return move(engine, lambda here: min(here, goal))


def migrate(engine: sa.Engine, revision: str = "head") -> Status:
    """Go to ``revision``, up or down. Returns and raises as ``upgrade``."""
    goal = position(revision)
    return move(engine, lambda here: goal)


def render_sql(dialect: str, revision: str = "head") -> str:
    """The SQL from no tables to ``revision``, or for ``base`` from the newest revision to no tables. Connects nowhere.

    Raises:
        InvalidParameterError: ``dialect`` is neither ``postgresql`` nor ``mysql``, or the revision is unknown.
    """
    if dialect not in LOWEST:
        raise InvalidParameterError("dialect", f"{dialect!r} is unknown; expected one of: {', '.join(LOWEST)}")
    output = io.StringIO()
    to_base = position(revision) == 0
    config = alembic_config(output, dialect=dialect, to_base=to_base)
    with ALEMBIC:
        if to_base:
            command.downgrade(config, "head:base", sql=True)
        else:
            command.upgrade(config, revision, sql=True)
    return output.getvalue()


def move(engine: sa.Engine, choose: Callable[[int], int]) -> Status:
    """Migrate from where the database is to where ``choose`` says, both as counts of applied migrations."""
    with connect(engine) as connection:
        check_server(connection)
        connection.rollback()
        # A stricter level of the caller's engine would not show what another run committed while this one waited.
        connection.execution_options(isolation_level="READ COMMITTED")
        lock(connection)
        before = read_status(connection)
        if before.state in ("newer", "foreign", "unfinished"):
            raise SchemaVersionError(explain(before))
        here = position(before.current)
        try:
            apply(connection, here, choose(here))
        except sa.exc.DBAPIError as error:
            raise MigrationFailedError(describe_failure(connection.dialect.name, error)) from error
        after = read_status(connection)
        connection.commit()
        return after


def lock(connection: sa.Connection) -> None:
    """Wait until no other migration runs in this database; Postgres lets go at the end of the transaction."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK_KEY)))
        return
    # MySQL's lock is the session's: detached from the pool, the session ends when the connection is closed.
    connection.detach()
    database = sa.func.sha2(sa.func.coalesce(sa.func.database(), ""), 256)
    # A lock's name has at most 64 characters, a database's too.
    name = sa.func.concat("selectq_migrate_", sa.func.left(database, 40))
    connection.execute(sa.select(sa.func.get_lock(name, -1)))


def apply(connection: sa.Connection, here: int, goal: int) -> None:
    if here == goal:
        return
    if connection.dialect.name == "mysql":
        # With no transaction open, Alembic commits the version together with each migration.
        connection.commit()
    config = alembic_config(connection=connection, to_base=goal == 0)
    target = ("base", *revisions())[goal]
    go = command.upgrade if goal > here else command.downgrade
    with ALEMBIC:
        go(config, target)


def describe_failure(dialect: str, error: sa.exc.DBAPIError) -> str:
    if dialect == "postgresql":
        left = "Everything was rolled back; remove the cause and run it again"
    else:
        left = (
            "MySQL cannot roll back changes to tables, so some may be done and some not; remove the cause, then let "
            "selectq migrate --db URL --status say what to do"
        )
    return f"the database refused a step of the migration: {error.orig}. {left}"
