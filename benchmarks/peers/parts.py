"""The parts of the work that claim libraries can express: each has one kind of limit and no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import sqlalchemy as sa

from benchmarks.bulk import COLUMNS, Words
from benchmarks.workloads import Workload
from benchmarks.workloads.grid import Grid

NO_LIMIT = 1_000_000


class OnePool(Grid):
    """Each row needs a slot of one of 20 pools, 18 with 28 free and 2 with 4: 512 in all. Nothing else is limited."""

    name: ClassVar[str] = "pools"
    limited_tasks: ClassVar[int] = 0
    max_active_tasks: ClassVar[int] = NO_LIMIT
    active_states: ClassVar[str] = "CASE WHEN {} < 4 THEN 'running' END"

    def free(self, words: Words) -> str:
        return "CASE WHEN p.i < 2 THEN 4 ELSE 28 END"


class OneAtATime(Workload):
    """1,000 tasks of 10 dags may each run once at a time, over all runs; a tenth of them run. Pools have room.

    All rows of a task have the same one of 10 priorities: once its first is claimed, the others are in the way.
    """

    name: ClassVar[str] = "one-at-a-time"
    tasks_per_dag: ClassVar[int] = 100
    runs_per_step: ClassVar[int] = 50

    @property
    def dags(self) -> int:
        return 10

    @property
    def runs_per_dag(self) -> int:
        return self.rows // (self.dags * self.tasks_per_dag)

    @property
    def runs(self) -> int:
        """And one more of each dag, whose tasks are those that run."""
        return self.dags * (self.runs_per_dag + 1)

    def holders(self, words: Words) -> Iterator[str]:
        yield f"""
            INSERT INTO dag (dag_id, max_active_tasks)
            SELECT {words.name("dag_", "i")}, {NO_LIMIT} FROM {words.numbers(self.dags)} AS n
        """
        yield f"""
            INSERT INTO task (dag_id, task_id, pool, priority_weight, max_active_tis_per_dag)
            SELECT
                dag_id, {words.name("task_", "i")}, 'pool_00000',
                {words.drawn(10, "priority", "dag_id", "i")} + 1, 1
            FROM dag CROSS JOIN {words.numbers(self.tasks_per_dag)} AS n
        """
        yield f"""
            INSERT INTO dag_run (dag_id, run_id, state, logical_date)
            SELECT dag_id, {words.name("run_", "i")}, 'running', {words.minutes_later("60 * i")}
            FROM dag CROSS JOIN {words.numbers(self.runs_per_dag + 1)} AS n
        """

    def instances(self, words: Words) -> Iterator[str]:
        def insert(state: str, condition: str) -> str:
            return f"""
                INSERT INTO task_instance ({COLUMNS})
                SELECT
                    r.dag_id, r.run_id, t.task_id, -1, '{state}', r.logical_date, t.pool, t.pool_slots,
                    t.priority_weight
                FROM dag_run AS r JOIN task AS t ON t.dag_id = r.dag_id
                WHERE {condition}
            """

        first_run = words.between("r.run_id", "run_", 0, 1)
        yield insert("running", f"{first_run} AND {words.drawn(10, 'held', 't.dag_id', 't.task_id')} = 0")
        for start in range(1, self.runs_per_dag + 1, self.runs_per_step):
            end = min(start + self.runs_per_step, self.runs_per_dag + 1)
            yield insert("scheduled", words.between("r.run_id", "run_", start, end))

    def pools(self, words: Words) -> Iterator[str]:
        yield "INSERT INTO slot_pool (pool, slots) VALUES ('pool_00000', -1)"


PARTS: dict[str, type[Workload]] = {kind.name: kind for kind in (OnePool, OneAtATime)}


def limits(connection: sa.Connection, part: str) -> dict[str, int]:
    """What carries the limit -> its bound, named as the peers' ``source_rows`` names it."""
    if part == OnePool.name:
        return {row.pool: row.slots for row in connection.execute(sa.text("SELECT pool, slots FROM slot_pool"))}
    tasks = connection.execute(sa.text("SELECT dag_id, task_id, max_active_tis_per_dag FROM task"))
    return {f"{row.dag_id}/{row.task_id}": row.max_active_tis_per_dag for row in tasks}
