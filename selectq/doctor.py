"""A look at a database through selectq's eyes: what it needs, what would slow it down. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import sqlalchemy as sa

from selectq.database import PLANNER_SETTINGS, READ_COMMITTED, check_server, connect
from selectq.errors import SelectqError
from selectq.probe import check_session, check_skip_locked
from selectq.schema import build_metadata
from selectq.schema_status import explain, read_status

Verdict = Literal["ok", "note", "wrong"]

SKEW_SECONDS = 2.0
"""Clocks that differ by more are worth a note."""
STALE_DAYS = 7


@dataclass(frozen=True)
class Finding:
    """One thing looked at. ``wrong``: selectq refuses to work, or limits may not hold; ``note``: worth a look."""

    topic: str
    verdict: Verdict
    text: str


def examine(engine: sa.Engine) -> list[Finding]:
    """All findings; later topics are left out if the server or the tables are not what they must be.

    Raises:
        DatabaseUnreachableError: no connection.
    """
    with connect(engine) as connection:
        connection = connection.execution_options(isolation_level=READ_COMMITTED)
        version = str(connection.scalar(sa.select(sa.func.version())))
        found = [checked("server", lambda: check_server(connection), version)]
        if found[0].verdict == "wrong":
            return found
        status = read_status(connection)
        found.append(Finding("schema", "ok" if status.state == "current" else "wrong", explain(status)))
        found.append(checked("session", lambda: check_session(connection), f"{READ_COMMITTED} when asked for"))
        if status.state != "current":
            return found
        connection.rollback()
        found.append(checked("skip locked", lambda: check_skip_locked(connection, engine), "shown by two sessions"))
        for look in (default_isolation, clock, settings, missing_indexes, unused_indexes, statistics):
            found += look(connection)
        return found


def checked(topic: str, check: Callable[[], None], text: str) -> Finding:
    try:
        check()
    except SelectqError as error:
        return Finding(topic, "wrong", str(error))
    return Finding(topic, "ok", text)


def default_isolation(connection: sa.Connection) -> Iterator[Finding]:
    level = connection.default_isolation_level
    text = f"{level} unless asked otherwise"
    yield Finding("default isolation", "ok", text if level == READ_COMMITTED else f"{text}; a pass asks otherwise")


def clock(connection: sa.Connection) -> Iterator[Finding]:
    before = datetime.now(UTC)
    mysql = connection.dialect.name == "mysql"
    shown = connection.scalar(sa.select(sa.func.utc_timestamp(6) if mysql else sa.func.clock_timestamp()))
    after = datetime.now(UTC)
    if shown is None:
        return
    skew = ((shown.replace(tzinfo=UTC) if mysql else shown) - (before + (after - before) / 2)).total_seconds()
    verdict: Verdict = "ok" if abs(skew) <= SKEW_SECONDS else "note"
    yield Finding("clock", verdict, f"the database is {skew:+.1f} s against this machine; queued_dttm is its time")


def settings(connection: sa.Connection) -> Iterator[Finding]:
    if connection.dialect.name != "postgresql":
        return
    for name, wanted in PLANNER_SETTINGS.items():
        shown = connection.scalar(sa.select(sa.func.current_setting(name)))
        text = f"{name} is {shown}"
        yield Finding("setting", "ok", text if shown == wanted else f"{text}; passes set {wanted} for themselves")


def missing_indexes(connection: sa.Connection) -> Iterator[Finding]:
    inspector = sa.inspect(connection)
    missing = []
    for table in build_metadata(connection.dialect.name).sorted_tables:
        there = {index["name"] for index in inspector.get_indexes(table.name)}
        missing += [f"{index.name} on {table.name}" for index in table.indexes if index.name not in there]
    if missing:
        yield Finding("indexes", "wrong", f"missing: {', '.join(sorted(missing))}; passes would read whole tables")
    else:
        yield Finding("indexes", "ok", "all there")


def unused_indexes(connection: sa.Connection) -> Iterator[Finding]:
    if connection.dialect.name == "postgresql":
        stat = view("pg_stat_user_indexes", "relname", "indexrelname", "idx_scan", "schemaname")
        query = sa.select(stat.c.relname, stat.c.indexrelname).where(
            stat.c.idx_scan == 0, stat.c.schemaname == sa.func.current_schema()
        )
    else:
        stat = view(
            "table_io_waits_summary_by_index_usage", "object_name", "index_name", "count_star", "object_schema",
            schema="performance_schema",
        )  # fmt: skip
        query = sa.select(stat.c.object_name, stat.c.index_name).where(
            stat.c.count_star == 0, stat.c.object_schema == sa.func.database(), stat.c.index_name.is_not(None)
        )
    own = {index.name for table in build_metadata(connection.dialect.name).sorted_tables for index in table.indexes}
    idle = sorted(f"{index} on {table}" for table, index in connection.execute(query) if index in own)
    if idle:
        yield Finding("unused indexes", "note", f"not used since the server counts: {', '.join(idle)}")
    else:
        yield Finding("unused indexes", "ok", "none")


def statistics(connection: sa.Connection) -> Iterator[Finding]:
    if connection.dialect.name == "postgresql":
        stat = view("pg_stat_user_tables", "relname", "last_analyze", "last_autoanalyze", "schemaname")
        newest = sa.func.greatest(stat.c.last_analyze, stat.c.last_autoanalyze)
        query = sa.select(newest).where(
            stat.c.relname == "task_instance", stat.c.schemaname == sa.func.current_schema()
        )
    else:
        stat = view("innodb_table_stats", "table_name", "database_name", "last_update", schema="mysql")
        query = sa.select(stat.c.last_update).where(
            stat.c.table_name == "task_instance", stat.c.database_name == sa.func.database()
        )
    try:
        last = connection.scalar(query)
    except sa.exc.DBAPIError as error:
        connection.rollback()
        yield Finding("statistics", "note", f"their age is not shown to this user: {error.orig}")
        return
    if last is None:
        yield Finding("statistics", "note", "task_instance was never analysed; run ANALYZE when it is filled")
        return
    days = (datetime.now(UTC) - last.replace(tzinfo=last.tzinfo or UTC)).total_seconds() / 86400
    verdict: Verdict = "ok" if days <= STALE_DAYS else "note"
    yield Finding("statistics", verdict, f"those of task_instance are {max(0.0, days):.1f} days old")


def view(name: str, *columns: str, schema: str | None = None) -> Any:
    return sa.table(name, *(sa.column(column) for column in columns), schema=schema)
