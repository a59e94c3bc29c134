"""Decisions in SQL against the oracle, on random dags in random states and every engine.

With ``SELECTQ_TEST_EXAMPLES=2000`` in the environment the search is longer, and new each time.
"""

from __future__ import annotations

import os

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings

from selectq.upstream import decide
from tests.oracle_trigger import World, decide_all
from tests.trigger_strategies import trigger_worlds
from tests.trigger_tables import store

EXAMPLES = os.environ.get("SELECTQ_TEST_EXAMPLES")


@settings(
    max_examples=int(EXAMPLES or 60),
    derandomize="CI" in os.environ and EXAMPLES is None,
    # Each example works in a transaction of its own that is rolled back, so they can share a database.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(world=trigger_worlds())
def test_decisions_equal_the_oracle(engine: sa.Engine, world: World) -> None:
    with engine.connect() as connection:
        store(connection, world)
        decisions = decide(connection, list(world.dates))
        fewer = decide(connection, list(world.dates), waiting=False)
    assert {row.key: row.decision for row in decisions} == decide_all(world)
    assert [row.key for row in decisions] == list(dict.fromkeys(row.key for row in decisions))
    assert fewer == [row for row in decisions if row.decision != "wait"]
