"""The quick benchmark on a small backlog: that it measures the right thing, not how long that takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings

from benchmarks import check, floor
from benchmarks.measure import measure
from benchmarks.workloads import Uniform
from tests.oracle import World, walk
from tests.strategies import worlds
from tests.world_tables import states, store

SMALL = Uniform(rows=2000)
MAX_TIS = 64

# Of 1,000 rows with seed 7, on every engine: first and last of the 100 that a pass must start, and all pools' slots.
FIRST = ("dag_00000", "run_00000", "task_00020", -1)
LAST = ("dag_00000", "run_00001", "task_00023", -1)
SLOTS = 970


def test_measures_a_pass(engine: sa.Engine) -> None:
    SMALL.load(engine)
    with engine.connect() as connection:
        before = states(connection)
    assert sum(state == "scheduled" for state in before.values()) == SMALL.rows
    assert set(before.values()) == {"scheduled", "queued", "running", "deferred"}

    found = measure(engine, MAX_TIS, runs=2, warm_up=1)

    assert found.claimed == MAX_TIS
    assert [len(times.runs) for times in (found.whole, found.update, found.select)] == [2, 2, 2]
    assert found.statements == len(found.reads)
    assert all(each.query.startswith("selection/") for each in found.reads)
    assert found.rows_fetched >= 2 * MAX_TIS
    assert MAX_TIS <= found.reads_of_select < found.reads_of_pass
    if engine.dialect.name == "postgresql":
        assert found.statements == 3
        assert found.pages_of_pass
    else:
        assert found.statements <= 8
        assert found.pages_of_pass is None
    with engine.connect() as connection:
        assert states(connection) == before


def test_the_workload_depends_on_its_seed_alone(engine: sa.Engine) -> None:
    Uniform(rows=1000, seed=7).load(engine)
    with engine.connect() as connection:
        keys = check.expected(connection, 100)
        slots = connection.scalar(sa.text("SELECT SUM(slots) FROM slot_pool"))
    assert (len(keys), keys[0], keys[-1]) == (100, FIRST, LAST)
    assert slots == SLOTS


@pytest.mark.parametrize("engine_name", ["postgresql"])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(world=worlds())
def test_the_check_agrees_with_the_oracle(engine: sa.Engine, world: World) -> None:
    world = replace(world, executor_slots={})
    with engine.connect() as connection:
        store(connection, world)
        assert check.expected(connection, world.max_tis) == walk(world).admitted


def test_the_bare_update_changes_what_it_is_given(engine: sa.Engine) -> None:
    Uniform(rows=1000).load(engine)
    with engine.begin() as connection:
        before = states(connection)
        keys = check.expected(connection, 20)
        assert floor.update(connection, floor.as_parameter(keys)) == 20
        assert states(connection) == before | dict.fromkeys(keys, "queued")
