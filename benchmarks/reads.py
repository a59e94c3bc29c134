"""How many rows the server reads for each statement of a pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from selectq.catalogue import default_catalogue
from selectq.plans.model import Plan
from selectq.plans.mysql import handler_reads
from selectq.plans.postgresql import node_of, pages_of


@dataclass(frozen=True)
class Statement:
    """As it went to the driver, with the name of its query."""

    query: str
    sql: str
    parameters: Any


@dataclass(frozen=True)
class Reads:
    """What one statement read.

    ``rows``: on Postgres what scans of tables and their indexes returned or filtered out, by EXPLAIN (ANALYZE); on
    MySQL the session's Handler_read_* counters, which count index entries, table rows and the rows of internal
    temporary tables alike. ``pages``: shared buffers, hit or read; None on MySQL.
    """

    query: str
    rows: int
    pages: int | None
    detail: dict[str, int] = field(default_factory=dict)
    """Rows per table (Postgres) or per counter (MySQL)."""


@contextmanager
def recorded(engine: sa.Engine) -> Iterator[list[Statement]]:
    """Every statement that runs on the engine inside the block."""
    names = {query.sql: query.id for query in default_catalogue()}
    found: list[Statement] = []

    def before(connection: sa.Connection, cursor: Any, sql: str, parameters: Any, context: Any, many: bool) -> None:
        source = getattr(context.compiled, "statement", None)
        found.append(Statement(names.get(str(getattr(source, "text", "")), "other"), sql, parameters))

    sa.event.listen(engine, "before_cursor_execute", before)
    try:
        yield found
    finally:
        sa.event.remove(engine, "before_cursor_execute", before)


def replay(connection: sa.Connection, statements: list[Statement]) -> list[Reads]:
    """Run the statements once more, in the caller's transaction and on the data they were recorded on."""
    read = mysql_reads if connection.dialect.name == "mysql" else postgres_reads
    return [read(connection, statement) for statement in statements]


def postgres_reads(connection: sa.Connection, statement: Statement) -> Reads:
    sql = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement.sql}"
    [found] = connection.exec_driver_sql(sql, statement.parameters).scalar_one()
    tables = Plan((node_of(found["Plan"]),), analyzed=True).rows_read()
    return Reads(statement.query, sum(tables.values()), pages_of(found["Plan"]), tables)


def mysql_reads(connection: sa.Connection, statement: Statement) -> Reads:
    with handler_reads(connection, wanted=True) as counters:
        connection.exec_driver_sql(statement.sql, statement.parameters).close()
    return Reads(statement.query, sum(counters.values()), None, counters)
