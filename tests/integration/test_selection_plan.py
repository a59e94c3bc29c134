"""A selection on PostgreSQL reads the index in selection order, whatever the planner believes and is set to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from benchmarks.peers.mixed import Mixed
from benchmarks.workloads import Uniform
from selectq.executor import query_for

NOTHING_MARKED_VISIBLE = "UPDATE pg_class SET relallvisible = 0 WHERE oid = 'task_instance'::regclass"
NEVER_ANALYSED = """
    DELETE FROM pg_statistic WHERE starelid IN ('task_instance'::regclass, 'dag_run'::regclass, 'dag'::regclass)
"""
TAKEN_FOR_EMPTY = """
    UPDATE pg_class SET reltuples = 0, relpages = 0, relallvisible = 0
    WHERE relname IN ('task_instance', 'task', 'dag_run', 'dag', 'slot_pool')
        OR relname IN (SELECT indexname FROM pg_indexes WHERE tablename = 'task_instance')
"""


def explain(connection: sa.Connection, options: str = "") -> Iterator[Any]:
    query = query_for(connection, "selection/select_executable")
    found = connection.execute(sa.text(f"EXPLAIN {options} {query.sql}"), {"max_tis": 512, "executor_slots": "{}"})
    yield from found.scalars()


def plan(connection: sa.Connection) -> str:
    return "\n".join(explain(connection))


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for inner in node.get("Plans", ()):
        yield from nodes(inner)


@pytest.mark.parametrize("engine_name", ["postgresql", "postgresql15"])
def test_lines_are_read_by_the_index_whatever_the_planner_believes(engine: sa.Engine) -> None:
    Uniform(20_000).load(engine)
    with engine.begin() as connection:
        # A server's own setting; sessions of selectq leave it alone.
        connection.exec_driver_sql("SET LOCAL random_page_cost = 4")
        for change in ("SELECT 1", NOTHING_MARKED_VISIBLE, NEVER_ANALYSED, TAKEN_FOR_EMPTY):
            connection.exec_driver_sql(change)
            found = plan(connection)
            assert found.count("Index Only Scan using ix_task_instance_selection") == 3
            assert "Bitmap Index Scan on ix_task_instance_selection" not in found
            assert "Seq Scan on task_instance" not in found


@pytest.mark.parametrize("engine_name", ["postgresql", "postgresql15"])
def test_rows_that_wait_for_others_of_their_run_are_decided_together(engine: sa.Engine) -> None:
    """Each of them that could follow another one ended a step before, which sorts all rows at hand: 54 steps here."""
    Mixed(10_000).load(engine)
    with engine.connect() as connection:
        [found] = explain(connection, "(ANALYZE, FORMAT JSON)")
    [top] = found if isinstance(found, list) else json.loads(found)
    [walk] = [node for node in nodes(top["Plan"]) if node.get("Subplan Name") == "CTE walk"]
    _, steps = walk["Plans"]
    assert steps["Actual Loops"] <= 8
