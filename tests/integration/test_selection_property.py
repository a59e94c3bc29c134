"""The SQL against the oracle, on random worlds and every engine: same rows, same order, same reasons, no limit passed.

With ``SELECTQ_TEST_EXAMPLES=2000`` in the environment the search is longer, and new each time.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings

from selectq.rows import Blocked, Selected
from selectq.selection import blocked_by, claim, select
from tests.oracle import Key, Reason, World, limits, walk
from tests.strategies import worlds
from tests.world_tables import states, store

EXAMPLES = os.environ.get("SELECTQ_TEST_EXAMPLES")

COUNT = int(EXAMPLES or 60)

many_worlds = settings(
    max_examples=COUNT,
    # A run of CI must not fail by luck; whoever asks for a number of examples is looking for luck.
    derandomize="CI" in os.environ and EXAMPLES is None,
    # Each example works in a transaction of its own that is rolled back, so they can share a database.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

few_worlds = settings(many_worlds, max_examples=max(1, COUNT // 8))


@many_worlds
@given(world=worlds())
def test_selection_equals_the_oracle(engine: sa.Engine, world: World) -> None:
    check_selection(engine, world)


@few_worlds
@given(world=worlds(longest_flood=60))
def test_selection_from_long_lines_equals_the_oracle(engine: sa.Engine, world: World) -> None:
    """More rows than are read of a pool at a time."""
    check_selection(engine, world)


def check_selection(engine: sa.Engine, world: World) -> None:
    answer = walk(world)
    with engine.connect() as connection:
        store(connection, world)
        selected = select(connection, world.max_tis, world.executor_slots)
    assert [row.key for row in selected] == answer.admitted
    for row in selected:
        assert free_of(row) == {limit: answer.free[row.key][limit] for limit in FREE}
        assert row.logical_date == world.runs[row.key[:2]].logical_date
        instance = world.instances[row.key]
        assert (row.pool, row.pool_slots, row.priority_weight, row.executor) == (
            instance.pool,
            instance.pool_slots,
            instance.priority_weight,
            instance.executor or None,
        )


@many_worlds
@given(world=worlds())
def test_reasons_equal_the_oracle(engine: sa.Engine, world: World) -> None:
    answer = walk(world)
    with engine.connect() as connection:
        store(connection, world)
        blocked = blocked_by(connection, world.max_tis, world.executor_slots)
    assert {row.key: reasons_of(row) for row in blocked} == answer.blocked
    assert [row.key for row in blocked] == sorted(answer.blocked, key=in_bytes)


@many_worlds
@given(world=worlds())
def test_a_claim_passes_no_limit_and_leaves_no_room(engine: sa.Engine, world: World) -> None:
    with engine.connect() as connection:
        store(connection, world)
        claimed = [row.key for row in claim(connection, world.max_tis, world.executor_slots)]
        found = states(connection)
    assert claimed == walk(world).admitted
    before = {key: row.state for key, row in world.instances.items()}
    assert found == before | dict.fromkeys(claimed, "queued")

    after = world.with_states(found)
    for key in claimed:
        for limit in limits(after, key, claimed):
            assert limit.name != "no_pool"
            assert limit.free is None or limit.free >= 0, f"{limit.name} of {limit.holder} is passed"
    if len(claimed) < world.max_tis:
        assert walk(replace(after, max_tis=1_000_000, executor_slots=slots_left(world, claimed))).admitted == []


FREE = {
    "pool": "pool_free",
    "max_active_tasks": "run_free",
    "max_active_tis_per_dag": "task_free",
    "max_active_tis_per_dagrun": "task_in_run_free",
    "executor": "executor_free",
}


def free_of(row: Selected) -> dict[str, int | None]:
    return {limit: getattr(row, field) for limit, field in FREE.items()}


def reasons_of(row: Blocked) -> set[Reason]:
    return {Reason(r.limit, r.holder, r.used, r.capacity, r.never) for r in row.reasons}


def slots_left(world: World, claimed: list[Key]) -> dict[str, int]:
    taken = Counter(world.instances[key].executor or "" for key in claimed)
    return {name: free - taken[name] for name, free in world.executor_slots.items()}


def in_bytes(key: Key) -> tuple[bytes, bytes, bytes, int]:
    return (key[0].encode(), key[1].encode(), key[2].encode(), key[3])
