"""MySQL's loop: reading next to nothing at a time, it goes on behind what it found and hops over floods."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa
from hypothesis import given

from selectq import selection_mysql
from selectq.selection import select
from tests.integration.test_selection_property import check_selection, few_worlds
from tests.oracle import Dag, Instance, Pool, Run, Task, World, walk
from tests.strategies import worlds
from tests.world_tables import store

SMALLEST = {
    "MARGIN": 1, "SHORTEST_PAGE": 2, "PER_SLOT": 1, "DEPTH": 2, "HOPS": 3, "LEAST_GROWTH": 2, "MOST_GROWTH": 2,
    "FEW_LINES": 1,
}

pytestmark = pytest.mark.parametrize("engine_name", ["mysql"])


@pytest.fixture
def smallest(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALLEST.items():
        monkeypatch.setattr(selection_mysql, name, value)


@few_worlds
@given(world=worlds(longest_flood=60))
def test_selection_by_the_smallest_steps_equals_the_oracle(engine: sa.Engine, smallest: None, world: World) -> None:
    check_selection(engine, world)


def flooded() -> World:
    """Floods in one pool, all ahead of one row that may run: full ones, a paused one, and two with one place each."""
    names = ["full", "paused", "one", "full again", "wide", "last"]
    mapped = {
        (name, "r", "mapped", index): Instance(priority_weight=9, pool_slots=5 if name == "wide" and index < 30 else 1)
        for name in names[:-1]
        for index in range(40)
    }
    active = {
        (name, "r", "mapped", 100 + index): Instance("running", pool="other")
        for name in names[:-1]
        for index in range(2 if name.startswith("full") else 1)
    }
    return World(
        pools={"default_pool": Pool(4), "other": Pool(-1)},
        dags={name: Dag(is_paused=name == "paused") for name in names},
        tasks={(name, "mapped"): Task(None, 2) for name in names},
        runs={(name, "r"): Run() for name in names},
        instances=mapped | active | {("last", "r", "t", -1): Instance()},
    )


@pytest.mark.parametrize("max_tis", [1, 2, 3, 512])
def test_floods_are_hopped_over(engine: sa.Engine, smallest: None, max_tis: int) -> None:
    world = replace(flooded(), max_tis=max_tis)
    assert len(walk(world).admitted) == min(max_tis, 3)
    with engine.connect() as connection:
        store(connection, world)
        found = select(connection, max_tis)
    assert [row.key for row in found] == walk(world).admitted


def test_a_line_that_is_nearly_the_whole_table_is_read_on_in_order(engine: sa.Engine) -> None:
    """There MySQL would rather read the table than a range of the index: in the order of the primary key."""
    weights = {"b": 9, "a": 1}
    world = World(
        pools={"default_pool": Pool(-1)},
        dags={"d": Dag(max_active_tasks=1)},
        tasks={},
        runs={("d", run_id): Run() for run_id in weights},
        instances={
            ("d", run_id, "mapped", index): Instance(priority_weight=weight)
            for run_id, weight in weights.items()
            for index in range(14)
        },
        max_tis=6,
    )
    check_selection(engine, world)
