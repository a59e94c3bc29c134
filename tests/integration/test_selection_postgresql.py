"""PostgreSQL's walk: looking at next to nothing in a step, it hands on what it needs, and what it holds in reserve."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa
from hypothesis import given

from selectq import selection
from selectq.catalogue import Query
from selectq.executor import query_for
from tests.integration.test_selection_property import check_selection, many_worlds
from tests.oracle import Dag, Instance, Pool, Run, Task, World, walk
from tests.strategies import worlds

SMALLEST = {
    "least(pass.max_tis, 1024) + 16 AS reach": "CAST(2 AS bigint) AS reach",
    "greatest(1024, 2 * step.decided_now)": "greatest(2, 2 * step.decided_now)",
    "CAST(1 + share + 3 * sqrt(share) AS bigint)": "CAST(share AS bigint)",
}

pytestmark = pytest.mark.parametrize("engine_name", ["postgresql"])


def by_smallest_steps(connection: sa.Connection, name: str) -> Query:
    query = query_for(connection, name)
    sql = query.sql
    for usual, smallest in SMALLEST.items():
        assert sql.count(usual) == 1, usual
        sql = sql.replace(usual, smallest)
    return replace(query, sql=sql)


@pytest.fixture
def smallest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "query_for", by_smallest_steps)


@many_worlds
@given(world=worlds())
def test_selection_by_the_smallest_steps_equals_the_oracle(engine: sa.Engine, smallest: None, world: World) -> None:
    check_selection(engine, world)


def run_with_room_for_one(order: list[tuple[str, str, str]], **tasks: Task) -> World:
    """One row for each (run, task, pool), in this order; pool ``wide`` has room for all, the others for one."""
    return World(
        pools={pool: Pool(-1 if pool == "wide" else 1) for _, _, pool in order},
        dags={"d": Dag(max_active_tasks=1)},
        tasks={("d", task_id): task for task_id, task in tasks.items()},
        runs={("d", run_id): Run() for run_id, _, _ in order},
        instances={
            ("d", run_id, task_id, -1): Instance(pool=pool, priority_weight=-place)
            for place, (run_id, task_id, pool) in enumerate(order)
        },
    )


def test_the_reserve_of_a_run_that_fills_up_is_passed_over(engine: sa.Engine) -> None:
    world = run_with_room_for_one([("r", "a", "p"), ("r", "b", "q"), ("r", "c", "s"), ("r", "d", "wide")])
    assert len(walk(world).admitted) == 1
    check_selection(engine, world)


def test_the_reserve_of_a_run_whose_others_find_their_pools_full_comes_back(engine: sa.Engine) -> None:
    world = run_with_room_for_one(
        [("x", "t", "p"), ("y", "t", "q"), ("r", "a", "p"), ("r", "b", "q"), ("r", "c", "wide")]
    )
    assert [key[1] for key in walk(world).admitted] == ["x", "y", "r"]
    check_selection(engine, world)


def test_the_reserve_of_a_run_one_of_whose_tasks_has_filled_up_comes_back(engine: sa.Engine) -> None:
    """The task fills up in the first step, which doesn't get as far as the run, for the fillers of pool ``p``."""
    fillers = [(f"f{number:02}", "t", "p") for number in range(40)]
    world = run_with_room_for_one(
        [
            ("x", "once", "s"), *fillers, ("z", "t", "q"),
            ("r", "once", "q"), ("r", "b", "q"), ("r", "c", "wide"),
        ],
        once=Task(max_active_tis_per_dag=1),
    )
    world = replace(world, max_tis=5)
    assert [key[1] for key in walk(world).admitted] == ["x", "f00", "z", "r"]
    check_selection(engine, world)


def test_a_task_that_has_filled_up_stays_full_for_the_reserve(engine: sa.Engine) -> None:
    world = run_with_room_for_one(
        [
            ("w", "once", "s"), ("x", "t", "p"), ("y", "t", "q"),
            ("r", "a", "p"), ("r", "b", "q"), ("r", "once", "wide"),
        ],
        once=Task(max_active_tis_per_dag=1),
    )
    assert [key[1] for key in walk(world).admitted] == ["w", "x", "y"]
    check_selection(engine, world)


def test_a_lane_is_read_on_where_it_ends_in_reserve(engine: sa.Engine, smallest: None) -> None:
    world = run_with_room_for_one([("r", "a", "p"), ("r", "b", "q"), ("r", "c", "wide"), ("z", "t", "wide")])
    assert [key[1] for key in walk(world).admitted] == ["r", "z"]
    check_selection(engine, world)
