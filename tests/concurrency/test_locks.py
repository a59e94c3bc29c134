"""What a claim locks, seen from outside; and that those who share no holder do not wait for each other."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
import sqlalchemy as sa

from selectq import schema, selection
from selectq.scheduler_pass import SchedulerPass
from tests.concurrency.test_commit_order import fill, queued
from tests.oracle import Dag, Instance, Pool, Run, Task, World

TABLES = {name: schema.metadata.tables[name] for name in ("slot_pool", "dag", "dag_run", "task", "task_instance")}

CANDIDATES = {("d", "r0", "t0", 0): "p0", ("d", "r0", "t0", 1): "p0", ("d", "r1", "t1", 0): "p1"}
OTHERS = {("e", "r2", "t2", 0): "p2", ("d", "r3", "t0", 0): "p0"}

# p0, p2, t0 and t2 have a limit, p1 and t1 have none; what is not running is no candidate.
WORLD = World(
    {"p0": Pool(10), "p1": Pool(-1), "p2": Pool(10), "idle": Pool(10)},
    {"d": Dag(), "e": Dag()},
    {("d", "t0"): Task(5, 5), ("d", "t1"): Task(None, 5), ("e", "t2"): Task(5)},
    {("d", "r0"): Run("running"), ("d", "r1"): Run("running"), ("d", "r3"): Run("queued"), ("e", "r2"): Run("queued")},
    {key: Instance(pool=pool) for key, pool in (CANDIDATES | OTHERS).items()},
)
LOCKED = {
    "slot_pool": {("p0",)},
    "dag": set(),
    "dag_run": {("d", "r0"), ("d", "r1")},
    "task": {("d", "t0")},
    "task_instance": set(CANDIDATES),
}


def locked_rows(engine: sa.Engine) -> dict[str, set[tuple[object, ...]]]:
    """Keys of the rows that another session can't lock now."""
    found = {}
    with engine.connect() as connection:
        for name, table in TABLES.items():
            keys = list(table.primary_key.columns)
            every = {tuple(row) for row in connection.execute(sa.select(*keys))}
            free = connection.execute(sa.select(*keys).with_for_update(skip_locked=True))
            found[name] = every - {tuple(row) for row in free}
        connection.rollback()
    return found


@pytest.mark.parametrize("locked_holders", ["wait", "skip"])
def test_a_claim_locks_its_holders_and_candidates_and_nothing_else(engine: sa.Engine, locked_holders: str) -> None:
    fill(engine, WORLD)
    with engine.connect() as connection, connection.begin() as transaction:
        selected = selection.select(connection)
        assert locked_rows(engine) == {name: set() for name in TABLES}
        assert len(selection.claim_selected(connection, selected, None, locked_holders)) == len(CANDIDATES)
        assert locked_rows(engine) == LOCKED
        transaction.commit()
    assert locked_rows(engine) == {name: set() for name in TABLES}


@pytest.mark.parametrize("engine_name", ["mysql"])
def test_innodb_locks_records_and_no_gaps(engine: sa.Engine) -> None:
    fill(engine, WORLD)
    seen = sa.text("""
        SELECT DISTINCT object_name, lock_type, lock_mode, COUNT(*) AS locks
        FROM performance_schema.data_locks
        WHERE object_schema = DATABASE() AND lock_type = 'RECORD' AND index_name = 'PRIMARY'
        GROUP BY object_name, lock_type, lock_mode
    """)
    with engine.connect() as connection, connection.begin():
        selection.claim(connection)
        with engine.connect() as other:
            locks = {row.object_name: row for row in other.execute(seen)}
    expected = {name: len(rows) for name, rows in LOCKED.items() if rows}
    assert {name: row.locks for name, row in locks.items()} == expected
    assert {row.lock_mode for row in locks.values()} == {"X,REC_NOT_GAP"}


@pytest.mark.parametrize("engine_name", ["postgresql", "postgresql15"])
def test_task_instances_can_be_added_to_a_locked_run(engine: sa.Engine) -> None:
    fill(engine, WORLD)
    with engine.connect() as connection, connection.begin():
        selection.claim(connection)
        with engine.begin() as other:
            other.exec_driver_sql("SET LOCAL lock_timeout = '2s'")
            row = {"dag_id": "d", "run_id": "r0", "task_id": "new", "map_index": -1}
            other.execute(sa.insert(TABLES["task_instance"]), row)


DISJOINT = World(
    {"p0": Pool(4), "p1": Pool(4)},
    {"a": Dag(), "b": Dag()},
    {("a", "t"): Task(9), ("b", "t"): Task(9)},
    {("a", "r"): Run("running"), ("b", "r"): Run("running")},
    {(dag, "r", "t", i): Instance(pool=pool) for dag, pool in (("a", "p0"), ("b", "p1")) for i in range(6)},
)


def test_schedulers_with_disjoint_holders_proceed_side_by_side(engine: sa.Engine) -> None:
    """One holds its locks open; the other claims to the end meanwhile. Any common lock would let it wait for ever."""
    fill(engine, DISJOINT)
    with engine.connect() as one, engine.connect() as two:
        mine = [row for row in selection.select(one) if row.dag_id == "a"]
        other = [row for row in selection.select(two) if row.dag_id == "b"]
        assert len(selection.claim_selected(one, mine)) == 4
        assert len(selection.claim_selected(two, other)) == 4
        two.commit()
        assert queued(engine) == 4
        one.commit()
    assert queued(engine) == 8


@pytest.mark.parametrize("max_tis", [1, 3])
def test_a_pass_that_skips_goes_on_behind_locked_holders(engine: sa.Engine, max_tis: int) -> None:
    """The first candidates belong to a pool that is locked: those of the other one are found however far behind."""
    fill(engine, DISJOINT)
    with engine.connect() as one:
        assert len(selection.claim(one, max_tis=1)) == 1
        with SchedulerPass(engine, max_tis=max_tis, locked_holders="skip", attempts=1) as p:
            assert {row.dag_id for row in p.claim()} == {"b"}
        one.rollback()


def test_a_pass_that_skips_waits_rather_than_end_empty_handed(engine: sa.Engine) -> None:
    fill(engine, DISJOINT)
    with engine.connect() as one:
        assert len(selection.claim(one, max_tis=8)) == 8
        with SchedulerPass(engine, locked_holders="skip") as p:
            skipped: list[str] = []

            @sa.event.listens_for(engine, "before_cursor_execute")
            def see(connection: sa.Connection, cursor: object, sql: str, *rest: object) -> None:
                if "locked_pool" in sql:
                    skipped.append(sql)
                    if "SKIP LOCKED" not in sql:
                        one.rollback()

            assert len(p.claim()) == 8
    assert ["SKIP LOCKED" in sql for sql in skipped] == [True, False]


def test_long_transactions_of_others_do_not_stop_claims(engine: sa.Engine) -> None:
    """A backup that has read everything in one snapshot, and a session that reads and forgets to commit."""
    fill(engine, DISJOINT)
    with engine.connect() as backup, engine.connect() as reader:
        backup.execution_options(isolation_level="REPEATABLE READ")
        for name, table in TABLES.items():
            assert backup.scalar(sa.select(sa.func.count()).select_from(table)), name
        reader.execute(sa.select(TABLES["task_instance"])).all()
        with SchedulerPass(engine, attempts=1) as p:
            assert len(p.claim()) == 8
        assert queued(engine) == 8
        in_backup = sa.select(sa.func.count()).where(TABLES["task_instance"].c.state == "queued")
        assert backup.scalar(in_backup) == 0


def test_with_one_pool_for_all_nobody_starves(engine: sa.Engine) -> None:
    """Four schedulers, one pool of two slots, each claim ended at once by its scheduler: all get a part."""
    rows = {("d", "r", "t", index): Instance() for index in range(400)}
    fill(engine, World({"default_pool": Pool(2)}, {"d": Dag(400)}, {}, {("d", "r"): Run("running")}, rows))
    ti = TABLES["task_instance"]
    won: Counter[str] = Counter()
    failures: list[BaseException] = []
    names = [f"s{number}" for number in range(4)]
    together = threading.Barrier(len(names))

    def scheduler(name: str) -> None:
        try:
            together.wait(60)
            while min(won[each] for each in names) < 6 and sum(won.values()) < len(rows) and not failures:
                with SchedulerPass(engine, max_tis=2, queued_by=name, attempts=50) as p:
                    claimed = p.claim()
                won[name] += len(claimed)
                done = ti.c.map_index.in_([row.map_index for row in claimed])
                with engine.begin() as connection:
                    connection.execute(sa.update(ti).where(done).values(state="success"))
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=scheduler, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert min(won[name] for name in names) >= 6
