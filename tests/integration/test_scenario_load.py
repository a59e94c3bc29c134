"""A scenario in the tables: every field arrives, and large counts are multiplied exactly."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from selectq.scenario.format import parse_scenario
from selectq.scenario.load import ROWS_PER_INSERT, load
from selectq.schema import metadata

SCENARIO = """
id: all-fields
kind: select
max_tis: 1
pools: [{pool: p, slots: -1, include_deferred: true}]
dags: [{dag_id: a, max_active_tasks: -3, is_paused: true}]
tasks:
  - {dag_id: a, task_id: t, max_active_tis_per_dag: 0, max_active_tis_per_dagrun: null}
  - {dag_id: a, task_id: u, upstream: [t], trigger_rule: all_done, retries: 2}
dag_runs:
  - {dag_id: a, run_id: r, state: failed, run_type: backfill, logical_date: 2026-01-01T02:00:00.000001+02:00}
  - {dag_id: a, run_id: s, state: running, logical_date: null}
task_instances:
  - {dag_id: a, run_id: r, task_id: t, count: COUNT, state: null, pool: q, pool_slots: 2147483647}
  - {dag_id: a, run_id: s, task_id: u, state: running, pool: p, priority_weight: -2147483648, try_number: 0}
expect: {selected: []}
"""


def rows(connection: sa.Connection, name: str, *columns: str) -> list[tuple[object, ...]]:
    table = metadata.tables[name]
    chosen = [table.c[column] for column in columns]
    return [tuple(row) for row in connection.execute(sa.select(*chosen).order_by(*chosen))]


def test_every_field_arrives(engine: sa.Engine) -> None:
    first = datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    on_server = first if engine.dialect.name == "postgresql" else first.replace(tzinfo=None)
    key = ("dag_id", "run_id", "task_id", "map_index")
    with engine.connect() as connection:
        load(connection, parse_scenario(SCENARIO.replace("COUNT", "2"), "all-fields"))
        assert rows(connection, "slot_pool", "pool", "slots", "include_deferred") == [("p", -1, True)]
        assert rows(connection, "dag", "dag_id", "max_active_tasks", "is_paused") == [("a", -3, True)]
        limits = ("max_active_tis_per_dag", "max_active_tis_per_dagrun", "trigger_rule", "retries")
        assert rows(connection, "task", "task_id", *limits) == [
            ("t", 0, None, "all_success", 0),
            ("u", None, None, "all_done", 2),
        ]
        assert rows(connection, "task_edge", "dag_id", "upstream_task_id", "downstream_task_id") == [("a", "t", "u")]
        assert rows(connection, "dag_run", "run_id", "state", "run_type", "logical_date") == [
            ("r", "failed", "backfill", on_server),
            ("s", "running", "scheduled", None),
        ]
        others = ("state", "logical_date", "pool", "pool_slots", "priority_weight", "try_number")
        assert rows(connection, "task_instance", *key, *others) == [
            ("a", "r", "t", 0, None, on_server, "q", 2**31 - 1, 1, 1),
            ("a", "r", "t", 1, None, on_server, "q", 2**31 - 1, 1, 1),
            ("a", "s", "u", -1, "running", None, "p", 1, -(2**31), 0),
        ]


@pytest.mark.parametrize("count", [ROWS_PER_INSERT, ROWS_PER_INSERT + 1, 5 * ROWS_PER_INSERT - 1])
def test_large_counts_are_multiplied_by_the_server(engine: sa.Engine, count: int) -> None:
    with engine.connect() as connection:
        load(connection, parse_scenario(SCENARIO.replace("COUNT", str(count)), "all-fields"))
        found = rows(connection, "task_instance", "task_id", "map_index", "pool_slots")
    assert found == [*(("t", index, 2**31 - 1) for index in range(count)), ("u", -1, 1)]
