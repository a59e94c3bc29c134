"""Rows of tables that the server reads, without those of what it makes on the way."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from benchmarks.reads import postgres_reads, recorded


def base_reads(connection: sa.Connection, work: Callable[[], object]) -> int:
    """Rows that the statements of ``work`` read of tables and their indexes.

    On Postgres from EXPLAIN (ANALYZE) of each statement, on MySQL from the performance schema's count of fetches.
    """
    if connection.dialect.name == "mysql":
        before = fetched(connection)
        work()
        return fetched(connection) - before
    with recorded(connection.engine) as statements:
        work()
    queries = [statement for statement in statements if statement.query != "other"]
    settings = [statement for statement in statements if statement.query == "other"]
    total = 0
    for statement in queries:
        # As it was run: between the statement that sets the planner and the one that sets it back.
        if settings:
            connection.exec_driver_sql(settings[0].sql, settings[0].parameters)
        total += postgres_reads(connection, statement).rows
    connection.rollback()
    return total


def fetched(connection: sa.Connection) -> int:
    table = "performance_schema.table_io_waits_summary_by_table"
    query = f"SELECT SUM(count_fetch) FROM {table} WHERE object_schema = DATABASE()"
    return int(connection.scalar(sa.text(query)) or 0)
