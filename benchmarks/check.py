"""Which task instances a pass must start, as one straight walk over all rows; nothing imported from selectq.

Unlike ``tests/oracle.py``, which counts everything anew at each step, it keeps its counts, and so takes a second for
100,000 rows. It knows no executor slots.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

Row = sa.Row[*tuple[Any, ...]]
Key = tuple[str, str, str, int]
BEFORE_ALL_DATES = datetime(1, 1, 1, tzinfo=UTC)

WAITING = """
    SELECT ti.dag_id, ti.run_id, ti.task_id, ti.map_index, r.logical_date, ti.priority_weight, ti.pool, ti.pool_slots
    FROM task_instance AS ti
    JOIN dag_run AS r ON r.dag_id = ti.dag_id AND r.run_id = ti.run_id
    JOIN dag AS d ON d.dag_id = ti.dag_id
    WHERE ti.state = 'scheduled' AND r.state = 'running' AND NOT d.is_paused
"""
ACTIVE = """
    SELECT dag_id, run_id, task_id, state, pool, pool_slots
    FROM task_instance
    WHERE state IN ('queued', 'running', 'deferred')
"""
POOLS = "SELECT pool, slots, include_deferred FROM slot_pool"
DAGS = "SELECT dag_id, max_active_tasks FROM dag"
TASKS = "SELECT dag_id, task_id, max_active_tis_per_dag, max_active_tis_per_dagrun FROM task"
NO_LIMITS = SimpleNamespace(max_active_tis_per_dag=None, max_active_tis_per_dagrun=None)


def expected(connection: sa.Connection, max_tis: int) -> list[Key]:
    """Keys of the first ``max_tis`` that fit every limit, in the total order."""

    def rows(query: str) -> list[Row]:
        return list(connection.execute(sa.text(query)))

    pools = {row.pool: row for row in rows(POOLS)}
    dags = {row.dag_id: row.max_active_tasks for row in rows(DAGS)}
    tasks: dict[tuple[str, str], Any] = {(row.dag_id, row.task_id): row for row in rows(TASKS)}
    in_pool: Counter[str] = Counter()
    in_run: Counter[tuple[str, str]] = Counter()
    in_task: Counter[tuple[str, str]] = Counter()
    in_task_of_run: Counter[tuple[str, str, str]] = Counter()

    def take(row: Row, state: str) -> None:
        if state != "deferred":
            in_run[row.dag_id, row.run_id] += 1
        if state != "deferred" or (row.pool in pools and pools[row.pool].include_deferred):
            in_pool[row.pool] += row.pool_slots
        in_task[row.dag_id, row.task_id] += 1
        in_task_of_run[row.dag_id, row.run_id, row.task_id] += 1

    def fits(row: Row) -> bool:
        pool, task = pools.get(row.pool), tasks.get((row.dag_id, row.task_id), NO_LIMITS)
        return (
            pool is not None
            and (pool.slots == -1 or in_pool[row.pool] + row.pool_slots <= pool.slots)
            and in_run[row.dag_id, row.run_id] < dags[row.dag_id]
            and below(in_task[row.dag_id, row.task_id], task.max_active_tis_per_dag)
            and below(in_task_of_run[row.dag_id, row.run_id, row.task_id], task.max_active_tis_per_dagrun)
        )

    for row in rows(ACTIVE):
        take(row, row.state)
    started: list[Key] = []
    for row in sorted(rows(WAITING), key=place_in_order):
        if len(started) == max_tis:
            break
        if fits(row):
            take(row, "queued")
            started.append((row.dag_id, row.run_id, row.task_id, row.map_index))
    return started


def below(used: int, limit: int | None) -> bool:
    return limit is None or used < limit


def place_in_order(row: Row) -> tuple[object, ...]:
    date = row.logical_date or BEFORE_ALL_DATES
    return (
        -row.priority_weight,
        row.logical_date is None,
        # MySQL's times come without a zone: they are in UTC.
        date if date.tzinfo else date.replace(tzinfo=UTC),
        row.dag_id.encode(),
        row.run_id.encode(),
        row.task_id.encode(),
        row.map_index,
    )
