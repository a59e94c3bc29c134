"""Several limits at once, as an installation has them that is busy for a while: what an exact selection is for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from benchmarks.bulk import COLUMNS, Words
from benchmarks.workloads import WorkloadOptionError
from benchmarks.workloads.grid import Grid

STEP = 10_000
IDLE = 100
"""Task instances of the idle dag: 10 runs of 10 tasks."""
FLOOD_LIMIT = 5
NEARLY_FULL = 2
FREE_IN_NEARLY_FULL = 3
LOW_DAGS = 10
"""Every so manyth dag may have few active task instances in a run."""
LOW_LIMIT = 2


class Mixed(Grid):
    """``uniform`` for nine tenths of the rows, with less room, and beside it what real backlogs have.

    - 18 pools have 24 free slots, 2 have 3: a tenth of the grid waits for the latter.
    - Every tenth dag has ``max_active_tasks`` 2, the others 16, as Airflow's default.
    - One tenth of the rows, less 100, are mapped instances of one task of one run, behind a limit of 5: the oldest run,
      with the highest weight.
    - 100 rows of the lowest weight wait in a pool of their own with room for all of them: the dag ``idle``.
    """

    name: ClassVar[str] = "mixed"
    free_per_pool: ClassVar[int] = 24

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rows % STEP:
            raise WorkloadOptionError(f"rows must be a multiple of {STEP:,}, not {self.rows:,}")

    @property
    def grid_rows(self) -> int:
        return self.rows // 10 * 9

    @property
    def runs(self) -> int:
        return super().runs + 11

    def free(self, words: Words) -> str:
        return f"CASE WHEN p.i < {NEARLY_FULL} THEN {FREE_IN_NEARLY_FULL} ELSE {self.free_per_pool} END"

    def holders(self, words: Words) -> Iterator[str]:
        yield from super().holders(words)
        yield f"UPDATE dag SET max_active_tasks = {LOW_LIMIT} WHERE {words.number('dag_id')} % {LOW_DAGS} = 0"
        yield "INSERT INTO dag (dag_id, max_active_tasks) VALUES ('flood', 16), ('idle', 16)"
        yield f"""
            INSERT INTO task (dag_id, task_id, pool, priority_weight, max_active_tis_per_dagrun)
            VALUES ('flood', 'mapped', 'pool_00019', {self.priorities}, {FLOOD_LIMIT})
        """
        yield f"""
            INSERT INTO task (dag_id, task_id, pool, priority_weight)
            SELECT 'idle', {words.name("task_", "i")}, 'idle', 1 FROM {words.numbers(10)} AS n
        """
        yield f"""
            INSERT INTO dag_run (dag_id, run_id, state, logical_date)
            SELECT 'idle', {words.name("run_", "i")}, 'running', {words.minutes_later("600000 + i")}
            FROM {words.numbers(10)} AS n
        """
        yield f"""
            INSERT INTO dag_run (dag_id, run_id, state, logical_date)
            VALUES ('flood', 'run_00000', 'running', {words.minutes_later("0")})
        """

    def instances(self, words: Words) -> Iterator[str]:
        yield from super().instances(words)
        yield f"""
            INSERT INTO task_instance ({COLUMNS})
            SELECT
                r.dag_id, r.run_id, t.task_id, -1, 'scheduled', r.logical_date, t.pool, t.pool_slots, t.priority_weight
            FROM dag_run AS r JOIN task AS t ON t.dag_id = r.dag_id
            WHERE r.dag_id = 'idle'
        """
        flood = self.rows - self.grid_rows - IDLE
        for start in range(0, flood, 50_000):
            yield f"""
                INSERT INTO task_instance ({COLUMNS})
                SELECT
                    r.dag_id, r.run_id, t.task_id, n.i, 'scheduled',
                    r.logical_date, t.pool, t.pool_slots, t.priority_weight
                FROM dag_run AS r
                JOIN task AS t ON t.dag_id = r.dag_id
                CROSS JOIN {words.numbers(min(50_000, flood - start), start)} AS n
                WHERE r.dag_id = 'flood'
            """

    def pools(self, words: Words) -> Iterator[str]:
        yield from super().pools(words)
        yield f"INSERT INTO slot_pool (pool, slots) VALUES ('idle', {IDLE})"
