"""What a pass makes of each fault: repeated within the bound, or an error that says what was not done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import sqlalchemy as sa

from selectq import schema
from selectq.dags import Dag, Task
from selectq.database import create_engine
from selectq.defining import define
from selectq.errors import (
    CommitUnknownError,
    DatabaseReadOnlyError,
    DatabaseUnreachableError,
    RetriesExhaustedError,
    StatementCancelledError,
)
from selectq.scheduler_pass import SchedulerPass
from tests.concurrency.test_commit_order import fill, instances, queued, world
from tests.servers.state import busy_connections, end_session

Hook = Callable[[sa.Connection], None]

dag_run, ti = (schema.metadata.tables[name] for name in ("dag_run", "task_instance"))
KEY = (ti.c.dag_id, ti.c.run_id, ti.c.task_id, ti.c.map_index)


@contextmanager
def at_claim(engine: sa.Engine, do: Hook, times: int = 1) -> Iterator[list[int]]:
    """Do something before the statement that claims, the first so many times."""
    done: list[int] = []

    def hook(connection: sa.Connection, cursor: Any, sql: str, *rest: Any) -> None:
        if "queued_dttm" in sql and "FOR UPDATE" in sql and len(done) < times:
            done.append(len(done))
            do(connection)

    sa.event.listen(engine, "before_cursor_execute", hook)
    try:
        yield done
    finally:
        sa.event.remove(engine, "before_cursor_execute", hook)


@contextmanager
def at_commit(engine: sa.Engine, do: Hook) -> Iterator[None]:
    """Do something as the first commit begins."""
    done: list[int] = []

    def hook(connection: sa.Connection) -> None:
        if not done:
            done.append(1)
            do(connection)

    sa.event.listen(engine, "commit", hook)
    try:
        yield
    finally:
        sa.event.remove(engine, "commit", hook)
        assert done


def unreachable(connection: sa.Connection) -> None:
    end_session(connection)
    connection.engine.dispose()

    def refuse(*args: Any) -> None:
        raise sa.exc.OperationalError("connect", {}, Exception("refused"))

    sa.event.listen(connection.engine, "do_connect", refuse)


@pytest.mark.parametrize(("times", "attempts"), [(1, 3), (2, 3), (1, 1)])
def test_a_connection_lost_before_the_commit_is_made_anew(engine: sa.Engine, times: int, attempts: int) -> None:
    fill(engine, world(instances()))
    with at_claim(engine, end_session, times), SchedulerPass(engine, attempts=attempts) as p:
        if attempts > times:
            assert len(p.claim()) == 8
        else:
            with pytest.raises(DatabaseUnreachableError, match="nothing was committed"):
                p.claim()
    assert queued(engine) == (8 if attempts > times else 0)
    with SchedulerPass(engine) as p:
        p.claim()
    assert queued(engine) == 8


def test_a_commit_that_did_not_arrive_is_found_out_and_made_again(engine: sa.Engine) -> None:
    fill(engine, world(instances()))
    with at_commit(engine, end_session), SchedulerPass(engine) as p:
        claimed = p.claim()
    assert len({row.claim_token for row in claimed}) == queued(engine) == 8


def test_a_commit_whose_answer_got_lost_is_found_out(engine: sa.Engine) -> None:
    """The commit arrives; the connection ends before the client hears of it."""
    fill(engine, world(instances()))

    def commit_and_cut(connection: sa.Connection) -> None:
        cursor: Any = connection.connection.cursor()
        cursor.execute("COMMIT")
        end_session(connection)

    with at_commit(engine, commit_and_cut), SchedulerPass(engine) as p:
        claimed = p.claim()
    assert len(claimed) == queued(engine) == 8


def test_a_commit_that_the_server_still_works_on_is_waited_for(engine: sa.Engine) -> None:
    """The client's connection is gone; what it did is committed a moment later, as by a server that is slow."""
    fill(engine, world(instances()))
    late: list[threading.Timer] = []

    def go_on_elsewhere(connection: sa.Connection) -> None:
        claims = connection.execute(sa.select(*KEY, ti.c.claim_token).where(ti.c.state == "queued")).all()
        end_session(connection)
        other = connection.engine.connect()
        for *key, token in claims:
            found = sa.and_(*(column == value for column, value in zip(KEY, key, strict=True)))
            other.execute(sa.update(ti).where(found).values(state="queued", claim_token=token))
        late.append(threading.Timer(0.5, commit, [other]))
        late[0].start()

    def commit(other: sa.Connection) -> None:
        with other:
            other.commit()

    with at_commit(engine, go_on_elsewhere), SchedulerPass(engine) as p:
        claimed = p.claim()
    late[0].join()
    assert len(claimed) == queued(engine) == 8


def test_a_commit_that_nobody_can_ask_about_is_told(engine_url: str, engine: sa.Engine) -> None:
    fill(engine, world(instances()))
    own = create_engine(engine_url)
    told = "either all was committed of which 'result' tells, or nothing was"
    with (
        at_commit(own, unreachable),
        SchedulerPass(own, attempts=2) as p,
        pytest.raises(CommitUnknownError, match=told) as caught,
    ):
        p.claim()
    assert len({row.claim_token for row in caught.value.result}) == 8
    assert queued(engine) == 0
    own.dispose()


def test_work_that_is_not_known_to_be_done_and_cannot_be_done_again_is_told(engine: sa.Engine, engine_url: str) -> None:
    define(engine, Dag("d", [Task("t")]))
    with engine.begin() as connection:
        connection.execute(sa.insert(dag_run).values(dag_id="d", run_id="r", state="running"))
        connection.execute(sa.insert(ti).values(dag_id="d", run_id="r", task_id="t", map_index=-1))
    own = create_engine(engine_url)
    changes: list[str] = []
    lost: list[int] = []

    def lose_the_second(connection: sa.Connection, cursor: Any, sql: str, *rest: Any) -> None:
        if "UPDATE" in sql and "task_instance" in sql:
            changes.append(sql)
            if lost:
                end_session(connection)

    def lose_the_commit(connection: sa.Connection) -> None:
        if changes and not lost:
            lost.append(1)
            end_session(connection)

    sa.event.listen(own, "before_cursor_execute", lose_the_second)
    sa.event.listen(own, "commit", lose_the_commit)
    with SchedulerPass(own, attempts=2) as p, pytest.raises(CommitUnknownError, match="not be done again") as caught:
        p.apply([("d", "r")])
    assert [row.key for row in caught.value.result] == [("d", "r", "t", -1)]
    own.dispose()


def test_a_cancelled_statement_is_not_repeated(engine: sa.Engine) -> None:
    fill(engine, world(instances()))

    def cancel(connection: sa.Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SET LOCAL statement_timeout = 50")
            connection.exec_driver_sql("SELECT pg_sleep(5)")
        else:
            everything = "information_schema.columns"
            connection.exec_driver_sql(
                f"SELECT /*+ MAX_EXECUTION_TIME(50) */ COUNT(*) FROM {everything} AS a, {everything} AS b"
            )

    told = "nothing was committed, and it was not tried again"
    with (
        at_claim(engine, cancel, 5) as done,
        SchedulerPass(engine) as p,
        pytest.raises(StatementCancelledError, match=told),
    ):
        p.claim()
    assert done == [0]
    assert queued(engine) == 0


@pytest.mark.parametrize("times", [1, 9])
def test_a_lock_timeout_is_tried_again_within_the_bound(engine: sa.Engine, times: int) -> None:
    fill(engine, world(instances()))
    with engine.connect() as other, other.begin():
        other.exec_driver_sql("SELECT * FROM dag WHERE dag_id = 'd' FOR UPDATE")

        def time_out(connection: sa.Connection) -> None:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("SET LOCAL lock_timeout = 50")
            else:
                connection.exec_driver_sql("SET SESSION innodb_lock_wait_timeout = 1")
            connection.exec_driver_sql("SELECT * FROM dag WHERE dag_id = 'd' FOR UPDATE")

        with at_claim(engine, time_out, times), SchedulerPass(engine, attempts=2) as p:
            if times == 1:
                assert len(p.claim()) == 8
            else:
                with pytest.raises(RetriesExhaustedError, match="gave up after 2 attempts, nothing was committed"):
                    p.claim()
    assert queued(engine) == (8 if times == 1 else 0)
    engine.dispose()


def fail_over(connection: sa.Connection) -> None:
    """This connection leads to a server that takes no writes."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    else:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("START TRANSACTION READ ONLY")


@pytest.mark.parametrize(("times", "attempts"), [(1, 2), (9, 2)])
def test_after_a_failover_a_new_connection_is_tried(engine: sa.Engine, times: int, attempts: int) -> None:
    fill(engine, world(instances()))
    with at_claim(engine, fail_over, times), SchedulerPass(engine, attempts=attempts) as p:
        if times < attempts:
            assert len(p.claim()) == 8
        else:
            with pytest.raises(DatabaseReadOnlyError, match="must lead to the new primary"):
                p.claim()
    assert queued(engine) == (8 if times < attempts else 0)


def test_a_pass_that_died_leaves_no_lock_and_no_half_claim(engine: sa.Engine) -> None:
    fill(engine, world(instances(), slots=5))
    with at_claim(engine, end_session, 9), SchedulerPass(engine, attempts=1) as p, suppress(DatabaseUnreachableError):
        p.claim()
    with engine.connect() as connection:
        assert busy_connections(connection) == 0
    assert queued(engine) == 0
    with SchedulerPass(engine, attempts=1) as p:
        assert len(p.claim()) == 5
