"""The same rows under the statistics that a planner may meet: fresh, out of date, none yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Protocol

import sqlalchemy as sa

from selectq.errors import SelectqError
from selectq.plans.statistics import refresh_statistics
from selectq.schema import build_metadata
from selectq.scratch import scratch_database

FRESH, STALE, BULK = STATES = ("fresh", "stale", "bulk")
"""Analysed as they are; analysed while the tables were empty; never analysed."""

# All pages on MySQL: it would look at some, others each time, and estimate from these.
KEEP = {"postgresql": "SET (autovacuum_enabled = off)", "mysql": "STATS_AUTO_RECALC = 0, STATS_SAMPLE_PAGES = 65535"}
PATIENCE = 50
"""Tenths of a second that other people's transactions may keep VACUUM from its work."""


Call = Callable[[sa.Connection], object]
"""Work in the caller's transaction."""


class Workload(Protocol):
    """Rows for the queries of an area, such as ``selection``; ``rows`` says how large it is."""

    @property
    def name(self) -> str: ...

    @property
    def area(self) -> str: ...

    @property
    def rows(self) -> int: ...

    def load(self, engine: sa.Engine) -> None:
        """Fill the empty tables, and analyse them."""

    def calls(self) -> Sequence[Call]:
        """Work on these rows that runs the queries of the area. Empty for selection: there a pass is followed."""


@contextmanager
def loaded_states(url: str | sa.URL, workload: Workload) -> Iterator[dict[str, sa.Engine]]:
    """State -> an engine in a scratch database with the workload's rows. Statistics stay as they are.

    Raises:
        SelectqError: as ``scratch_database`` does.
    """
    with ExitStack() as stack:
        engines = {state: stack.enter_context(scratch_database(url)) for state in STATES}
        for engine in engines.values():
            for table in tables_of(engine):
                run(engine, f"ALTER TABLE {table.name} {KEEP[engine.dialect.name]}")
        analyse(engines[STALE])
        workload.load(engines[FRESH])
        settle(engines[FRESH])
        for state in (STALE, BULK):
            copy(engines[FRESH], engines[state])
        yield engines


def analyse(engine: sa.Engine) -> None:
    refresh_statistics(engine, (table.name for table in tables_of(engine)))


def settle(engine: sa.Engine) -> None:
    """See to it that VACUUM has marked the rows visible to all: PostgreSQL's planner counts on that.

    Raises:
        SelectqError: a transaction that somebody holds open in this database keeps VACUUM from it.
    """
    if engine.dialect.name != "postgresql":
        return
    pages = sa.table("pg_class", sa.column("oid"), sa.column("relpages"), sa.column("relallvisible"))
    ours = [sa.func.to_regclass(table.name) for table in tables_of(engine)]
    unmarked = sa.select(sa.func.count()).where(pages.c.oid.in_(ours), pages.c.relallvisible < pages.c.relpages)
    for _ in range(PATIENCE):
        with engine.connect() as connection:
            if not connection.scalar(unmarked):
                return
        time.sleep(0.1)
        analyse(engine)
    raise SelectqError(
        "db: a transaction is held open in this database, which spoils fresh statistics; use another one"
    )


def copy(source: sa.Engine, target: sa.Engine) -> None:
    """All rows of one scratch database into the empty tables of another on the same server."""
    with source.connect() as connection:
        schema = sa.inspect(connection).default_schema_name
    elsewhere = sa.MetaData()
    with target.begin() as connection:
        for table in tables_of(target):
            rows = table.to_metadata(elsewhere, schema=str(schema))
            names = [column.name for column in table.columns if column.computed is None]
            chosen = sa.select(*(rows.c[name] for name in names))
            connection.execute(table.insert().from_select(names, chosen, include_defaults=False))
            count_on(connection, table)


def count_on(connection: sa.Connection, table: sa.Table) -> None:
    """Let the numbers that the database gives go on behind those that were written; MySQL does so by itself."""
    if connection.dialect.name != "postgresql":
        return
    for column in table.columns:
        if column.identity is not None:
            numbers = sa.func.pg_get_serial_sequence(table.name, column.name)
            connection.execute(sa.select(sa.func.setval(numbers, sa.func.max(column))))


def tables_of(engine: sa.Engine) -> list[sa.Table]:
    return build_metadata(engine.dialect.name).sorted_tables


def run(engine: sa.Engine, statement: str) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text(statement))
