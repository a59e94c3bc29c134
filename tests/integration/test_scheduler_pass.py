"""A pass against a live server: what it claims, what it leaves alone, what it refuses, what it costs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from selectq import schema, selection
from selectq.database import create_engine
from selectq.errors import (
    DatabaseUnreachableError,
    InvalidParameterError,
    RetriesExhaustedError,
    SchemaVersionError,
    SelectqError,
    UnsupportedDatabaseError,
)
from selectq.scheduler_pass import SchedulerPass
from tests.oracle import Dag, Instance, Key, Pool, Run, Task, World
from tests.world_tables import states, store

ti = schema.metadata.tables["task_instance"]
pool = schema.metadata.tables["slot_pool"]
dag = schema.metadata.tables["dag"]
dag_run = schema.metadata.tables["dag_run"]

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def world(count: int = 3, **changes: Any) -> World:
    """One dag with one run and ``count`` scheduled instances of one mapped task."""
    instances = {("d", "r", "t", index): Instance() for index in range(count)}
    plain = World(
        {"default_pool": Pool(16)}, {"d": Dag()}, {("d", "t"): Task()}, {("d", "r"): Run("running", DAY)}, instances
    )
    return replace(plain, **changes)


def fill(engine: sa.Engine, content: World) -> None:
    with engine.begin() as connection:
        store(connection, content)


def states_now(engine: sa.Engine) -> dict[Key, str | None]:
    with engine.connect() as connection:
        return states(connection)


def test_claimed_rows_are_queued_under_tokens_of_their_own(engine: sa.Engine) -> None:
    fill(engine, world(3))
    with engine.connect() as connection:
        before = connection.scalar(sa.select(sa.func.now()))
    with SchedulerPass(engine, max_tis=2, queued_by="scheduler-é") as p:
        claimed = p.claim()
    assert [row.key for row in claimed] == [("d", "r", "t", 0), ("d", "r", "t", 1)]
    assert len({row.claim_token for row in claimed}) == 2
    with engine.connect() as connection:
        stored = connection.execute(sa.select(ti).where(ti.c.state == "queued").order_by(ti.c.map_index)).all()
    assert [row.claim_token for row in stored] == [row.claim_token for row in claimed]
    assert {row.queued_by for row in stored} == {"scheduler-é"}
    for row, kept in zip(claimed, stored, strict=True):
        assert row.queued_dttm.tzinfo is not None
        assert abs(row.queued_dttm.replace(tzinfo=None) - before.replace(tzinfo=None)) < timedelta(minutes=1)
        assert kept.queued_dttm.replace(tzinfo=None) == row.queued_dttm.replace(tzinfo=None)
        assert row.queued_by == "scheduler-é"


def test_rows_are_frozen(engine: sa.Engine) -> None:
    fill(engine, world(1))
    with SchedulerPass(engine) as p:
        [row] = p.select()
        with pytest.raises(FrozenInstanceError):
            row.pool_slots = 2  # type: ignore[misc]


def test_selecting_changes_nothing(engine: sa.Engine) -> None:
    fill(engine, world(3))
    with SchedulerPass(engine) as p:
        assert len(p.select()) == len(p.select()) == 3
    assert set(states_now(engine).values()) == {"scheduled"}


def test_an_empty_database_has_nothing_to_start(engine: sa.Engine) -> None:
    with SchedulerPass(engine, max_tis=1) as p:
        assert p.select() == []
        assert p.claim() == []
        assert p.blocked_by() == []


def test_the_callers_transaction_decides(engine: sa.Engine) -> None:
    fill(engine, world(2))
    with engine.connect() as connection, connection.begin() as transaction:
        assert len(selection.claim(connection)) == 2
        transaction.rollback()
    assert set(states_now(engine).values()) == {"scheduled"}


CHANGES: dict[str, tuple[Callable[[], sa.Update], list[int], str | None]] = {
    "state": (lambda: sa.update(ti).where(ti.c.map_index == 0).values(state="failed"), [1, 2], "failed"),
    "unscheduled": (lambda: sa.update(ti).where(ti.c.map_index == 0).values(state=None), [1, 2], None),
    "pool": (lambda: sa.update(ti).where(ti.c.map_index == 0).values(pool="other"), [1, 2], "scheduled"),
    "slots": (lambda: sa.update(pool).values(slots=2), [0, 1], "queued"),
    "max_active_tasks": (lambda: sa.update(dag).values(max_active_tasks=1), [0], "queued"),
    "paused": (lambda: sa.update(dag).values(is_paused=True), [], "scheduled"),
    "run": (lambda: sa.update(dag_run).values(state="failed"), [], "scheduled"),
    "width": (lambda: sa.update(ti).where(ti.c.map_index == 0).values(pool_slots=17), [], "scheduled"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_others_change_between_selection_and_claim_is_respected(engine: sa.Engine, change: str) -> None:
    statement, still_claimed, state_of_first = CHANGES[change]
    fill(engine, world(3, pools={"default_pool": Pool(16), "other": Pool(16)}))
    with engine.connect() as connection, connection.begin():
        selected = selection.select(connection)
        with engine.begin() as other:
            other.execute(statement())
        claimed = selection.claim_selected(connection, selected)
    assert [row.map_index for row in claimed] == still_claimed
    found = states_now(engine)
    assert found["d", "r", "t", 0] == state_of_first
    assert [key[3] for key, state in found.items() if state == "queued"] == still_claimed


def test_what_others_take_between_selection_and_claim_is_not_given_out_again(engine: sa.Engine) -> None:
    fill(engine, world(5, pools={"default_pool": Pool(3)}))
    with engine.connect() as connection, connection.begin():
        selected = selection.select(connection)
        with SchedulerPass(engine, max_tis=2) as other:
            taken = other.claim()
        claimed = selection.claim_selected(connection, selected)
    assert [row.map_index for row in taken] == [0, 1]
    assert [row.map_index for row in claimed] == [2]


def test_a_row_that_somebody_holds_is_left_to_them_and_the_next_one_is_taken(engine: sa.Engine) -> None:
    fill(engine, world(3, pools={"default_pool": Pool(1)}))
    with engine.connect() as other, other.begin() as transaction:
        other.execute(sa.select(ti).where(ti.c.map_index == 0).with_for_update())
        with engine.connect() as connection, connection.begin():
            assert selection.claim_selected(connection, selection.select(connection)) == []
        transaction.rollback()
    with SchedulerPass(engine) as p:
        assert [row.map_index for row in p.claim()] == [0]


def test_two_schedulers_at_once_pass_no_limit_and_share_no_row(engine: sa.Engine) -> None:
    count = 200
    tasks = {("d", f"t{index % 7}"): Task(max_active_tis_per_dag=20) for index in range(count)}
    rows = {("d", f"r{index % 5}", f"t{index % 7}", index): Instance(pool=f"p{index % 3}") for index in range(count)}
    fill(
        engine,
        World(
            {f"p{index}": Pool(30) for index in range(3)},
            {"d": Dag(max_active_tasks=25)},
            tasks,
            {("d", f"r{index}"): Run("running", DAY) for index in range(5)},
            rows,
        ),
    )
    won: list[Key] = []
    failures: list[BaseException] = []
    start = threading.Barrier(2)

    def scheduler(name: str) -> None:
        try:
            start.wait()
            for _ in range(20):
                with SchedulerPass(engine, max_tis=7, queued_by=name, attempts=20) as p:
                    won.extend(row.key for row in p.claim())
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=scheduler, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(won) == len(set(won))
    queued = [key for key, state in states_now(engine).items() if state == "queued"]
    assert sorted(won) == sorted(queued)
    for index in range(3):
        assert sum(rows[key].pool == f"p{index}" for key in queued) <= 30
    for index in range(5):
        assert sum(key[1] == f"r{index}" for key in queued) <= 25
    for index in range(7):
        assert sum(key[2] == f"t{index}" for key in queued) <= 20
    with SchedulerPass(engine) as p:
        assert p.select() == []


def hold(
    engine: sa.Engine, first: sa.Select[Any], ready: threading.Event, go: threading.Event, second: sa.Select[Any]
) -> None:
    """Lock ``first``, say so, and lock ``second`` when told: together with a claim the other way round, a deadlock."""
    with engine.connect() as connection, connection.begin():
        if engine.dialect.name == "mysql":
            # InnoDB ends the transaction that has written less.
            connection.execute(sa.update(ti).where(ti.c.run_id == "busy").values(queued_by="x"))
        else:
            # Postgres ends the one that looks first.
            connection.exec_driver_sql("SET LOCAL deadlock_timeout = '60s'")
        connection.execute(first.with_for_update())
        ready.set()
        go.wait()
        connection.execute(second.with_for_update())


@pytest.mark.parametrize(("attempts", "wins"), [(3, True), (1, False)])
def test_a_deadlock_is_tried_again_within_the_bound(engine: sa.Engine, attempts: int, wins: bool) -> None:
    runs = {("d", "r"): Run("running", DAY), ("d", "busy"): Run("queued", DAY)}
    busy = {("d", "busy", "t", index): Instance("success") for index in range(50)}
    fill(engine, world(2, runs=runs, instances=world(2).instances | busy))
    ready, go = threading.Event(), threading.Event()
    first = sa.select(dag_run).where(dag_run.c.run_id == "r")
    second = sa.select(pool).where(pool.c.pool == "default_pool")
    other = threading.Thread(target=hold, args=(engine, first, ready, go, second))
    other.start()
    ready.wait()

    # The claim locks the pool, then waits for the run; then the other one asks for the pool.
    @sa.event.listens_for(engine, "before_cursor_execute")
    def let_go(connection: Any, cursor: Any, sql: str, *rest: Any) -> None:
        if "locked_pool" in sql:
            threading.Timer(0.3, go.set).start()

    try:
        with SchedulerPass(engine, attempts=attempts) as p:
            if wins:
                assert len(p.claim()) == 2
            else:
                with pytest.raises(RetriesExhaustedError, match="gave up after 1 attempt, nothing was committed"):
                    p.claim()
    finally:
        go.set()
        other.join()
    queued = [key for key, state in states_now(engine).items() if state == "queued"]
    assert len(queued) == (2 if wins else 0)


@pytest.mark.parametrize("backlog", [60, 600])
def test_statements_and_rows_fetched_do_not_grow_with_the_backlog(engine: sa.Engine, backlog: int) -> None:
    fill(engine, world(backlog, tasks={("d", "t"): Task(max_active_tis_per_dagrun=20)}, dags={"d": Dag(1000)}))
    statements: list[str] = []
    rows = 0

    @sa.event.listens_for(engine, "after_cursor_execute")
    def count(connection: Any, cursor: Any, sql: str, *rest: Any) -> None:
        nonlocal rows
        statements.append(sql)
        rows += max(0, cursor.rowcount)

    with SchedulerPass(engine, max_tis=16) as p:
        statements.clear()
        rows = 0
        assert len(p.claim()) == 16
    assert len(statements) <= (3 if engine.dialect.name == "postgresql" else 8)
    assert rows <= 4 * 16


PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"max_tis": 0}, "max_tis: must be a whole number from 1 to 1000000, not 0"),
    ({"max_tis": -1}, "max_tis: must be a whole number from 1 to 1000000, not -1"),
    ({"max_tis": 2.5}, "max_tis: must be a whole number from 1 to 1000000, not 2.5"),
    ({"max_tis": True}, "max_tis: must be a whole number from 1 to 1000000, not True"),
    ({"max_tis": "32"}, "max_tis: must be a whole number from 1 to 1000000, not '32'"),
    ({"max_tis": None}, "max_tis: must be a whole number from 1 to 1000000, not None"),
    ({"policy": "fair"}, "policy: unknown policy 'fair'; expected one of: strict"),
    ({"policy": None}, "policy: unknown policy None"),
    ({"executor_slots": [1]}, "executor_slots: must map executor names to free slots"),
    ({"executor_slots": '{"a": 1}'}, "executor_slots: must map executor names to free slots"),
    ({"executor_slots": {"a": "1"}}, "executor_slots: free slots of 'a' must be a whole 32-bit number, not '1'"),
    ({"executor_slots": {"a": None}}, "executor_slots: free slots of 'a' must be a whole 32-bit number, not None"),
    ({"executor_slots": {"a": 1.5}}, "executor_slots: free slots of 'a' must be a whole 32-bit number, not 1.5"),
    ({"executor_slots": {1: 1}}, "executor_slots: an executor name must be text, not 1"),
    ({"queued_by": 7}, "queued_by: must be text of at most 250 characters"),
    ({"queued_by": "x" * 251}, "queued_by: must be text of at most 250 characters"),
    ({"attempts": 0}, "attempts: must be a whole number from 1 to 100, not 0"),
]


@pytest.mark.parametrize(("wrong", "message"), PARAMETERS)
@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_wrong_parameters_are_named(engine: sa.Engine, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        SchedulerPass(engine, **wrong)
    assert str(caught.value).startswith(message)
    assert caught.value.field == next(iter(wrong))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"page_size": 0}, "page_size: must be a whole number"),
        ({"map_index": -2}, "map_index: must be a whole number of at least -1"),
        ({"map_index": "1"}, "map_index: must be a whole number of at least -1"),
        ({"dag_id": 7}, "dag_id: must be text"),
        ({"pool": "x" * 257}, "pool: must be text of at most 256 characters"),
        ({"task_id": "a\0b"}, "task_id: must be text of at most 250 characters, no NUL"),
        ({"after": ("d", "r")}, "after: must be a key (dag_id, run_id, task_id, map_index)"),
    ],
)
@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_wrong_filters_are_named(engine: sa.Engine, wrong: dict[str, Any], message: str) -> None:
    with SchedulerPass(engine) as p, pytest.raises(InvalidParameterError) as caught:
        p.blocked_by(**wrong)
    assert str(caught.value).startswith(message)


def test_a_pass_needs_an_engine() -> None:
    with pytest.raises(InvalidParameterError, match="engine: must be a SQLAlchemy Engine, not str"):
        SchedulerPass("postgresql://localhost/x")  # type: ignore[arg-type]


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_a_pass_must_be_open(engine: sa.Engine) -> None:
    p = SchedulerPass(engine)
    with pytest.raises(SelectqError, match="the pass is not open"):
        p.select()
    with p:
        p.select()
    with pytest.raises(SelectqError, match="the pass is not open"):
        p.select()


def test_missing_tables_are_named(empty_engine: sa.Engine) -> None:
    with pytest.raises(SchemaVersionError, match="selectq migrate --db URL"), SchedulerPass(empty_engine):
        pass
    with empty_engine.connect() as connection, pytest.raises(SchemaVersionError, match="selection/"):
        selection.select(connection)


def test_a_newer_schema_is_refused(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE selectq_alembic_version SET version_num = 'v9_9_9_01'")
    try:
        with pytest.raises(SchemaVersionError, match="v9_9_9_01"), SchedulerPass(engine):
            pass
    finally:
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE selectq_alembic_version SET version_num = 'v0_1_0_01'")


def test_sqlite_is_refused() -> None:
    sqlite = sa.create_engine("sqlite://", poolclass=sa.NullPool)
    with pytest.raises(UnsupportedDatabaseError, match="sqlite is not supported"), SchedulerPass(sqlite):
        pass


@pytest.mark.parametrize("url", ["postgresql://u:secret@127.0.0.1:1/x", "mysql://u:secret@127.0.0.1:1/x"])
def test_an_unreachable_server_is_named_without_its_password(url: str) -> None:
    engine = create_engine(url)
    with pytest.raises(DatabaseUnreachableError, match=r"127\.0\.0\.1:1") as caught, SchedulerPass(engine):
        pass
    assert "secret" not in str(caught.value)


def test_reasons_come_in_pages(engine: sa.Engine) -> None:
    fill(engine, world(25, pools={"default_pool": Pool(5)}))
    with SchedulerPass(engine) as p:
        whole = p.blocked_by()
        pages, after = [], None
        while page := p.blocked_by(after=after, page_size=7):
            assert len(page) <= 7
            pages += page
            after = page[-1].key
    assert [row.key[3] for row in whole] == list(range(5, 25))
    assert pages == whole


def test_reasons_are_filtered(engine: sa.Engine) -> None:
    rows = {
        (dag_id, run_id, task_id, index): Instance(pool=pool_name)
        for dag_id in ("d", "D")
        for run_id in ("r", "s")
        for task_id, pool_name in (("t", "p"), ("u", "q"))
        for index in (0, 1)
    }
    runs = {(dag_id, run_id): Run("queued") for dag_id in ("d", "D") for run_id in ("r", "s")}
    fill(engine, World({"p": Pool(9), "q": Pool(9)}, {"d": Dag(), "D": Dag()}, {}, runs, rows))
    with SchedulerPass(engine) as p:

        def count(**filters: Any) -> int:
            return len(p.blocked_by(**filters))

        assert count() == 16
        assert count(dag_id="D") == 8
        assert count(run_id="s") == 8
        assert count(task_id="t") == count(pool="p") == 8
        assert count(map_index=1) == 8
        assert count(dag_id="d", run_id="r", task_id="t", map_index=0, pool="p") == 1
        assert count(dag_id="d", pool="x") == 0


@pytest.mark.parametrize("engine_name", ["postgresql", "postgresql15"])
def test_planner_settings_are_for_the_pass_alone(engine: sa.Engine) -> None:
    fill(engine, world(1))
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SHOW jit")) == "off"
    own = sa.create_engine(engine.url, isolation_level="READ COMMITTED", connect_args={"options": "-c jit=on"})
    statements: list[str] = []
    sa.event.listen(own, "before_cursor_execute", lambda c, cursor, sql, *rest: statements.append(sql))
    with SchedulerPass(own) as p:
        assert len(p.claim()) == 1
    assert statements[-4].startswith("SELECT set_config(")
    with own.connect() as connection:
        assert connection.scalar(sa.text("SHOW jit")) == "on"
    own.dispose()


def test_a_pass_is_read_committed_whatever_the_engine_is(engine: sa.Engine) -> None:
    fill(engine, world(2))
    own = sa.create_engine(engine.url, isolation_level="REPEATABLE READ")
    with own.connect() as connection:
        with pytest.raises(
            InvalidParameterError, match="needs isolation level READ COMMITTED, this connection has REP"
        ):
            selection.claim(connection)
        connection.rollback()
        connection.execution_options(isolation_level="READ COMMITTED")
        with connection.begin() as transaction:
            assert len(selection.claim(connection)) == 2
            transaction.rollback()
    with SchedulerPass(own) as p:
        assert len(p.claim()) == 2
    own.dispose()


@pytest.mark.parametrize("engine_name", ["postgresql", "postgresql15"])
def test_settings_of_the_url_stay_beside_selectqs_own(engine_url: str) -> None:
    own = create_engine(
        sa.make_url(engine_url).update_query_dict({"options": "-c work_mem=7MB"}), {"lock_timeout": "9s"}
    )
    with own.connect() as connection:
        shown = [connection.scalar(sa.text(f"SHOW {name}")) for name in ("work_mem", "lock_timeout", "timezone", "jit")]
    assert shown == ["7MB", "9s", "UTC", "off"]
    own.dispose()
