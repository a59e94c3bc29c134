"""Many floods ahead of what can run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from benchmarks.bulk import COLUMNS, Words
from benchmarks.workloads.grid import ROWS_PER_STEP, Grid

LIMIT = 5
FLOODS = 1000
LEAST_IN_FLOOD = 90
RUNS_PER_DAG = 10
PRIORITIES = 3
PERIOD, ONE_FREE, TWO_FREE = 50, 7, 31
"""Of 50 floods, number 7 has one free place and number 31 has two; the others have none."""


class Floods(Grid):
    """90% of the backlog are 1,000 runs with one mapped task each, behind a limit of 5 per run.

    1 in 50 has one free place and 1 in 50 has two; the rest is blocked. All have higher weights than the other 10%,
    which are runs of 10 tasks. Below 90,000 rows there are fewer floods, of 90 instances each.
    """

    name: ClassVar[str] = "floods"
    limited_tasks: ClassVar[int] = 1
    started_tasks: ClassVar[int] = 1

    @property
    def floods(self) -> int:
        return min(FLOODS, self.rows * 9 // 10 // LEAST_IN_FLOOD)

    @property
    def in_flood(self) -> int:
        """Scheduled instances in each."""
        return self.rows * 9 // 10 // self.floods

    @property
    def grid_rows(self) -> int:
        return self.rows - self.floods * self.in_flood

    @property
    def tasks_per_run(self) -> int:
        return 10

    @property
    def runs(self) -> int:
        return super().runs + self.floods

    def holders(self, words: Words) -> Iterator[str]:
        yield from super().holders(words)
        dags = words.numbers(self.floods // RUNS_PER_DAG)
        yield f"INSERT INTO dag (dag_id) SELECT {words.name('flood_', 'i')} FROM {dags} AS n"
        is_flood = "dag_id LIKE 'flood%'"
        yield f"""
            INSERT INTO task (dag_id, task_id, pool, priority_weight, max_active_tis_per_dagrun)
            SELECT
                dag_id, 'mapped', {words.name("pool_", words.drawn(self.pool_count, "pool", "dag_id"))},
                {self.priorities + 1} + {words.drawn(PRIORITIES, "priority", "dag_id")}, {LIMIT}
            FROM dag
            WHERE {is_flood}
        """
        date = words.minutes_later(f"{words.drawn(20_000, 'start', 'dag_id')} + i * 60")
        yield f"""
            INSERT INTO dag_run (dag_id, run_id, state, logical_date)
            SELECT dag_id, {words.name("run_", "i")}, 'running', {date}
            FROM dag CROSS JOIN {words.numbers(RUNS_PER_DAG)} AS n
            WHERE {is_flood}
        """

    def instances(self, words: Words) -> Iterator[str]:
        yield from super().instances(words)
        flood = f"({words.number('r.dag_id')} * {RUNS_PER_DAG} + {words.number('r.run_id')}) % {PERIOD}"
        used = f"CASE {flood} WHEN {ONE_FREE} THEN {LIMIT - 1} WHEN {TWO_FREE} THEN {LIMIT - 2} ELSE {LIMIT} END"
        dags = self.floods // RUNS_PER_DAG
        step = max(1, ROWS_PER_STEP // (RUNS_PER_DAG * self.in_flood))
        for first in range(0, dags, step):
            yield f"""
                INSERT INTO task_instance ({COLUMNS})
                SELECT
                    r.dag_id, r.run_id, t.task_id, n.i, CASE WHEN n.i < {LIMIT} THEN 'running' ELSE 'scheduled' END,
                    r.logical_date, t.pool, t.pool_slots, t.priority_weight
                FROM dag_run AS r
                JOIN task AS t ON t.dag_id = r.dag_id
                CROSS JOIN {words.numbers(self.in_flood + LIMIT)} AS n
                WHERE {words.between("r.dag_id", "flood_", first, min(first + step, dags))}
                    AND (n.i >= {LIMIT} OR n.i < {used})
            """
