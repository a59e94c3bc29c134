"""Schedulers of one release on the tables of the next: what a migration may do, and that queries do not mind it."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from selectq import migrate
from selectq.database import create_engine
from selectq.errors import SchemaVersionError
from selectq.revisions import VERSION_TABLE, revisions
from selectq.scheduler_pass import SchedulerPass
from selectq.schema_status import TABLES
from tests.concurrency.test_commit_order import fill, instances, queued, world

NEXT_RELEASE = (
    # A name that many queries give to something of their own, in front of which a column must not come.
    "ALTER TABLE task_instance ADD COLUMN place INTEGER",
    "ALTER TABLE task_instance ADD COLUMN claim INTEGER DEFAULT 7 NOT NULL",
    "ALTER TABLE slot_pool ADD COLUMN pool_free INTEGER DEFAULT 0 NOT NULL",
    "ALTER TABLE dag_run ADD COLUMN slots INTEGER",
    "ALTER TABLE dag ADD COLUMN fits INTEGER",
    "ALTER TABLE task ADD COLUMN weight INTEGER DEFAULT 1 NOT NULL",
    "CREATE INDEX ix_next_release ON task_instance (state, place)",
    "CREATE TABLE next_release (pool VARCHAR(256), place INTEGER)",
    f"UPDATE {VERSION_TABLE} SET version_num = 'v9_0_0_01'",
)


def columns(connection: sa.Connection) -> dict[tuple[str, str], tuple[str, bool]]:
    found: dict[tuple[str, str], tuple[str, bool]] = {}
    inspector = sa.inspect(connection)
    for table in TABLES.intersection(inspector.get_table_names()):
        for column in inspector.get_columns(table):
            # The collation may change: states are compared with constants only.
            length = str(column["type"]).partition(" COLLATE")[0].partition(" CHARACTER SET")[0]
            found[table, column["name"]] = (length, bool(column["nullable"]))
    return found


def indexes(connection: sa.Connection) -> set[tuple[Any, ...]]:
    inspector = sa.inspect(connection)
    return {
        (table, index["name"], *index["column_names"], *index.get("expressions", ()))
        for table in TABLES.intersection(inspector.get_table_names())
        for index in inspector.get_indexes(table)
    }


def test_migrations_take_nothing_away(empty_engine: sa.Engine) -> None:
    """A column or index of one revision is the same in the next; a new column of an old table may be left out."""
    before: dict[tuple[str, str], tuple[str, bool]] = {}
    known: set[tuple[Any, ...]] = set()
    for revision in revisions():
        migrate.upgrade(empty_engine, revision)
        with empty_engine.connect() as connection:
            after = columns(connection)
            assert before.items() <= after.items()
            found = indexes(connection)
            assert known <= found
            inspector = sa.inspect(connection)
            for table, name in after.keys() - before.keys():
                if table in {old for old, _ in before}:
                    [column] = [each for each in inspector.get_columns(table) if each["name"] == name]
                    assert column["nullable"] or column["default"] or column.get("computed"), (revision, table, name)
        before, known = after, found
    assert {table for table, _ in before} == TABLES


def test_running_schedulers_go_on_while_the_next_release_migrates(empty_engine: sa.Engine) -> None:
    engine = empty_engine
    migrate.upgrade(engine)
    rows = instances(runs=10, tasks=2)
    fill(engine, world(rows, slots=1000, max_active=1000, per_dag=1000, per_run=1000))
    won: list[UUID] = []
    failures: list[BaseException] = []
    warm = [threading.Event() for _ in range(3)]

    def scheduler(own: sa.Engine, ready: threading.Event) -> None:
        try:
            while True:
                with SchedulerPass(own, max_tis=4, attempts=20) as p:
                    claimed = p.claim()
                    p.blocked_by(page_size=5)
                won.extend(row.claim_token for row in claimed)
                ready.set()
                if not claimed:
                    return
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            failures.append(error)
            ready.set()

    owns = [create_engine(engine.url) for _ in warm]
    threads = [threading.Thread(target=scheduler, args=pair) for pair in zip(owns, warm, strict=True)]
    for thread in threads:
        thread.start()
    for ready in warm:
        ready.wait(60)
    for statement in NEXT_RELEASE:
        with engine.begin() as connection:
            connection.exec_driver_sql(statement)
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(set(won)) == len(won) == queued(engine) == len(rows)
    with SchedulerPass(owns[0], max_tis=4) as p:
        assert p.claim() == []
    fresh = create_engine(engine.url)
    with pytest.raises(SchemaVersionError, match="a newer selectq migrated this database"), SchedulerPass(fresh):
        pass
    for each in (*owns, fresh):
        each.dispose()
