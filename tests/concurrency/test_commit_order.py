"""Orders of commits that luck seldom brings, each forced: who begins first, commits last."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from selectq import schema, selection
from selectq.scheduler_pass import SchedulerPass
from tests.oracle import Dag, Instance, Key, Pool, Run, Task, World
from tests.world_tables import states, store

ti, pool, dag, task = (schema.metadata.tables[name] for name in ("task_instance", "slot_pool", "dag", "task"))

LIMITED = 5


def instances(runs: int = 1, tasks: int = 1) -> dict[Key, Instance]:
    return {("d", f"r{r}", f"t{t}", i): Instance() for r in range(runs) for t in range(tasks) for i in range(8)}


def world(
    rows: dict[Key, Instance], slots: int = 100, max_active: int = 100, per_dag: int | None = None,
    per_run: int | None = None,
) -> World:  # fmt: skip
    return World(
        {"default_pool": Pool(slots)},
        {"d": Dag(max_active)},
        {(key[0], key[2]): Task(per_dag, per_run) for key in rows},
        {key[:2]: Run("running") for key in rows},
        rows,
    )


WORLDS: dict[str, World] = {
    "pool": world(instances(2), slots=LIMITED),
    "run": world(instances(1, 2), max_active=LIMITED),
    "task": world(instances(2), per_dag=LIMITED),
    "task in run": world(instances(), per_run=LIMITED),
}


def fill(engine: sa.Engine, content: World) -> None:
    with engine.begin() as connection:
        store(connection, content)


def queued(engine: sa.Engine) -> int:
    with engine.connect() as connection:
        return sum(state == "queued" for state in states(connection).values())


@pytest.mark.parametrize("limit", WORLDS)
def test_a_transaction_that_began_earlier_counts_what_committed_since(engine: sa.Engine, limit: str) -> None:
    fill(engine, WORLDS[limit])
    with engine.connect() as early, early.begin():
        selected = selection.select(early)
        assert len(selected) == LIMITED
        with SchedulerPass(engine, max_tis=3) as late:
            assert len(late.claim()) == 3
        assert len(selection.claim_selected(early, selected)) == LIMITED - 3
    assert queued(engine) == LIMITED


@pytest.mark.parametrize("limit", WORLDS)
def test_one_that_waits_for_a_holder_counts_what_the_other_commits(engine: sa.Engine, limit: str) -> None:
    """The one that waits selected before the other claimed, and goes on once the other has committed."""
    fill(engine, WORLDS[limit])
    won: list[Any] = []
    with engine.connect() as first, first.begin() as transaction, engine.connect() as other:
        stale = selection.select(other)
        assert len(selection.claim(first, max_tis=3)) == 3

        def claim_stale() -> None:
            # From the end: they share a holder, and hardly a row.
            won.extend(selection.claim_selected(other, stale[::-1][:4]))
            other.commit()

        thread = threading.Thread(target=claim_stale)
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
        transaction.commit()
        thread.join()
    assert len(won) == LIMITED - 3
    assert queued(engine) == LIMITED


@contextmanager
def before_claim(engine: sa.Engine, do: Callable[[], None]) -> Iterator[None]:
    """Do something between the lock on the holders and the count."""
    done = False

    def hook(connection: Any, cursor: Any, sql: str, *rest: Any) -> None:
        nonlocal done
        if "queued_dttm" in sql and "FOR UPDATE" in sql and not done:
            done = True
            do()

    sa.event.listen(engine, "before_cursor_execute", hook)
    yield
    sa.event.remove(engine, "before_cursor_execute", hook)
    assert done


FIRST_LIMITS: dict[str, tuple[World, sa.Update]] = {
    "pool": (world(instances(2), slots=-1), sa.update(pool).values(slots=LIMITED)),
    "task": (world(instances(2), slots=-1), sa.update(task).values(max_active_tis_per_dag=LIMITED)),
}


@pytest.mark.parametrize("limit", FIRST_LIMITS)
def test_a_first_limit_set_in_the_middle_of_a_claim_holds(engine: sa.Engine, limit: str) -> None:
    """Nobody locks a holder that has no limit. Two that claim from it while it gets one must not both count alone."""
    content, change = FIRST_LIMITS[limit]
    fill(engine, content)

    def set_limit() -> None:
        with engine.begin() as admin:
            admin.execute(change)

    with engine.connect() as connection, connection.begin():
        selected = selection.select(connection)
        with before_claim(engine, set_limit):
            selection.claim_selected(connection, [row for row in selected if row.run_id == "r0"])
        with engine.connect() as other, other.begin():
            selection.claim_selected(other, [row for row in selected if row.run_id == "r1"])
    assert queued(engine) <= LIMITED
    with SchedulerPass(engine) as p:
        p.claim()
    assert queued(engine) == LIMITED


@pytest.mark.parametrize("limit", ["pool", "task"])
def test_whoever_lowers_a_limit_waits_for_the_claim_under_way(engine: sa.Engine, limit: str) -> None:
    fill(engine, WORLDS[limit])
    change = sa.update(pool).values(slots=1) if limit == "pool" else sa.update(task).values(max_active_tis_per_dag=1)
    order: list[str] = []

    def lower() -> None:
        with engine.begin() as admin:
            admin.execute(change)
        order.append("lowered")

    with engine.connect() as connection, connection.begin() as transaction:
        assert len(selection.claim(connection)) == LIMITED
        thread = threading.Thread(target=lower)
        thread.start()
        thread.join(0.3)
        order.append("claimed")
        transaction.commit()
    thread.join()
    assert order == ["claimed", "lowered"]
