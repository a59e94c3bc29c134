"""One flood ahead of all others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from benchmarks.bulk import COLUMNS, Words
from benchmarks.workloads.grid import ROWS_PER_STEP, Grid

LIMIT = 5


class Flood(Grid):
    """90% of the backlog are mapped instances of one task in one run, behind a limit of 5 that is used up.

    They have the highest weight and wait in one of 20 pools. The other 10% are runs of 10 tasks, so that even the
    smallest of the usual sizes fills a batch of 512.
    """

    name: ClassVar[str] = "flood"
    limited_tasks: ClassVar[int] = 1
    started_tasks: ClassVar[int] = 1

    @property
    def grid_rows(self) -> int:
        return self.rows // 10

    @property
    def tasks_per_run(self) -> int:
        return 10

    @property
    def runs(self) -> int:
        return super().runs + 1

    def holders(self, words: Words) -> Iterator[str]:
        yield from super().holders(words)
        weight = self.priorities + 1
        yield "INSERT INTO dag (dag_id) VALUES ('flood')"
        yield f"""
            INSERT INTO task (dag_id, task_id, pool, priority_weight, max_active_tis_per_dagrun)
            VALUES ('flood', 'mapped', 'pool_00000', {weight}, {LIMIT})
        """
        yield f"""
            INSERT INTO dag_run (dag_id, run_id, state, logical_date)
            VALUES ('flood', 'run_00000', 'running', {words.minutes_later("0")})
        """

    def instances(self, words: Words) -> Iterator[str]:
        yield from super().instances(words)
        instances = self.rows - self.grid_rows + LIMIT
        for start in range(0, instances, ROWS_PER_STEP):
            yield f"""
                INSERT INTO task_instance ({COLUMNS})
                SELECT
                    r.dag_id, r.run_id, t.task_id, n.i, CASE WHEN n.i < {LIMIT} THEN 'running' ELSE 'scheduled' END,
                    r.logical_date, t.pool, t.pool_slots, t.priority_weight
                FROM dag_run AS r
                JOIN task AS t ON t.dag_id = r.dag_id
                CROSS JOIN {words.numbers(min(ROWS_PER_STEP, instances - start), start)} AS n
                WHERE r.dag_id = 'flood'
            """
