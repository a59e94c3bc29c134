"""The plan of a query on a connection, asked for in a transaction of its own that is rolled back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from selectq.catalogue import Query
from selectq.database import NAMES
from selectq.errors import SelectqError
from selectq.plans import mysql, postgresql
from selectq.plans.model import Explained, Plan
from selectq.plans.values import Selecting, values_of_pass

EXPLAIN = {"postgresql": postgresql.explain, "mysql": mysql.explain}


def explain(
    connection: sa.Connection,
    query: Query,
    given: Mapping[str, Any] | None = None,
    analyze: bool = False,
    selecting: Selecting | None = None,
) -> Explained:
    """How the server runs a query; with ``analyze`` it does run it, and everything is rolled back.

    The transaction is READ ONLY unless the query locks or changes rows. Locks that an analyzed one takes are held
    until it has run.

    Args:
        connection: one with no transaction open.
        given: values of parameters; those left out are as a pass would have them now, see ``values_of_pass``.
        selecting: see ``values_of_pass``.

    Raises:
        InvalidParameterError: a value is wrong or missing.
        SchemaVersionError: the tables are missing.
        SelectqError: the server refuses the statement.
    """
    try:
        with rolled_back(connection, read_only=query.header["locks"] == "none"):
            values = values_of_pass(connection, query, given or {}, selecting)
            plan: Plan = EXPLAIN[query.dialect](connection, query, values, analyze)
    except sa.exc.DBAPIError as error:
        if error.connection_invalidated:
            raise
        raise SelectqError(f"{query.id}: the server refuses it: {error.orig}") from error
    return Explained(query.name, query.version, query.dialect, server(connection), values, plan)


@contextmanager
def rolled_back(connection: sa.Connection, read_only: bool) -> Iterator[None]:
    with connection.begin() as transaction:
        if read_only:
            connection.execute(sa.text("SET TRANSACTION READ ONLY"))
        try:
            yield
        finally:
            transaction.rollback()


def server(connection: sa.Connection) -> str:
    """``PostgreSQL 18.1``."""
    version = ".".join(str(part) for part in (connection.dialect.server_version_info or ())[:3])
    return f"{NAMES[connection.dialect.name]} {version}"
