"""Dags with the same number of runs, each with the same number of tasks that wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from benchmarks.bulk import COLUMNS, Words
from benchmarks.workloads.base import Workload

ROWS_PER_STEP = 50_000


class Grid(Workload):
    """A backlog without hot spots, and what its variants may change.

    Dags with 10 running runs, each with 100 scheduled task instances; 20 pools with equal room, 10 priorities. 3 tasks
    of each dag have a limit that active instances use in part. Some 1,700 further instances are queued, running
    or deferred.
    """

    runs_per_dag: ClassVar[int] = 10
    limited_tasks: ClassVar[int] = 3
    """The last of a run's tasks: one of their instances waits, another may be active."""
    started_tasks: ClassVar[int] = 2
    """Further tasks of a run, of which nothing waits."""
    priorities: ClassVar[int] = 10
    pool_count: ClassVar[int] = 20
    free_per_pool: ClassVar[int] = 48
    """20 pools with 48 free slots take 960: room for a batch of 512, and hardly a pool fills up on the way."""
    max_active_tasks: ClassVar[int] = 16
    active_states: ClassVar[str] = "CASE {} WHEN 0 THEN 'queued' WHEN 1 THEN 'deferred' ELSE 'running' END"

    @property
    def grid_rows(self) -> int:
        """Scheduled rows that are part of the grid."""
        return self.rows

    @property
    def tasks_per_run(self) -> int:
        """Tasks of a run that wait."""
        return 100

    @property
    def dags(self) -> int:
        return self.grid_rows // (self.runs_per_dag * self.tasks_per_run)

    @property
    def runs(self) -> int:
        return self.dags * self.runs_per_dag

    # SQL expressions over a task, with its number i.

    def priority(self, words: Words) -> str:
        return f"{words.drawn(self.priorities, 'priority', 'dag_id', 'task_id')} + 1"

    def pool(self, words: Words) -> str:
        """The number of its pool."""
        return words.drawn(self.pool_count, "pool", "dag_id", "task_id")

    def pool_slots(self, words: Words) -> str:
        return "1"

    # SQL expressions over a task t of a dag run r.

    def weight(self, words: Words) -> str:
        """Priority weight of what waits."""
        return "t.priority_weight"

    def is_active(self, words: Words) -> str:
        # A long backlog does not mean more workers: from 1,000 runs on the share of active ones falls.
        one_of = 3 * max(1, self.runs // 1000)
        return f"{words.drawn(one_of, 'active', 'r.dag_id', 'r.run_id', 't.task_id')} = 0"

    # SQL expression over a pool.

    def free(self, words: Words) -> str:
        return str(self.free_per_pool)

    def holders(self, words: Words) -> Iterator[str]:
        dags = words.numbers(self.dags)
        yield f"""
            INSERT INTO dag (dag_id, max_active_tasks)
            SELECT {words.name("dag_", "i")}, {self.max_active_tasks} FROM {dags} AS n
        """
        limit = words.drawn(2, "limit", "dag_id", "task_id")
        limited = f"i BETWEEN {self.tasks_per_run - self.limited_tasks} AND {self.tasks_per_run - 1}"
        for slice_of_dags in self.slices():
            yield f"""
                INSERT INTO task (
                    dag_id, task_id, pool, pool_slots, priority_weight,
                    max_active_tis_per_dag, max_active_tis_per_dagrun
                )
                SELECT
                    dag_id, task_id, {words.name("pool_", self.pool(words))}, {self.pool_slots(words)},
                    {self.priority(words)},
                    CASE WHEN {limited} AND {limit} = 0 THEN 8 END,
                    CASE WHEN {limited} AND {limit} = 1 THEN 1 END
                FROM (
                    SELECT dag_id, {words.name("task_", "i")} AS task_id, i
                    FROM dag CROSS JOIN {words.numbers(self.tasks_per_run + self.started_tasks)} AS n
                    WHERE {words.between("dag_id", "dag_", *slice_of_dags)}
                ) AS t
            """
        # Hours to a day apart, so that the oldest candidates belong to many runs of some dags and few of others.
        start = words.drawn(20_000, "start", "dag_id")
        interval = f"60 * (1 + {words.drawn(24, 'interval', 'dag_id')})"
        yield f"""
            INSERT INTO dag_run (dag_id, run_id, state, logical_date)
            SELECT dag_id, {words.name("run_", "i")}, 'running', {words.minutes_later(f"{start} + i * {interval}")}
            FROM dag CROSS JOIN {words.numbers(self.runs_per_dag)} AS n
        """

    def instances(self, words: Words) -> Iterator[str]:
        waits = f"t.task_id < {words.name('task_', str(self.tasks_per_run))}"
        is_limited = "(t.max_active_tis_per_dag IS NOT NULL OR t.max_active_tis_per_dagrun IS NOT NULL)"
        drawn = words.drawn(4, "state", "r.dag_id", "r.run_id", "t.task_id")

        def insert(dags: tuple[int, int], state: str, mapped_index: int, weight: str, condition: str) -> str:
            return f"""
                INSERT INTO task_instance ({COLUMNS})
                SELECT
                    r.dag_id, r.run_id, t.task_id, CASE WHEN {is_limited} THEN {mapped_index} ELSE -1 END, {state},
                    r.logical_date, t.pool, t.pool_slots, {weight}
                FROM dag_run AS r JOIN task AS t ON t.dag_id = r.dag_id
                WHERE r.state = 'running' AND {words.between("r.dag_id", "dag_", *dags)} AND {condition}
            """

        for dags in self.slices():
            yield insert(dags, "'scheduled'", 1, self.weight(words), waits)
            started = f"({is_limited} OR NOT {waits}) AND {self.is_active(words)}"
            yield insert(dags, self.active_states.format(drawn), 0, "t.priority_weight", started)

    def pools(self, words: Words) -> Iterator[str]:
        yield f"""
            INSERT INTO slot_pool (pool, slots)
            SELECT p.pool, {self.free(words)} + COALESCE(used.slots, 0)
            FROM (SELECT i, {words.name("pool_", "i")} AS pool FROM {words.numbers(self.pool_count)} AS n) AS p
            LEFT JOIN (
                SELECT pool, SUM(pool_slots) AS slots
                FROM task_instance
                WHERE state IN ('queued', 'running')
                GROUP BY pool
            ) AS used ON used.pool = p.pool
        """

    def slices(self) -> Iterator[tuple[int, int]]:
        """Ranges of dags, first and end, that make a step each."""
        step = max(1, ROWS_PER_STEP // (self.runs_per_dag * self.tasks_per_run))
        for first in range(0, self.dags, step):
            yield first, min(first + step, self.dags)
