"""Data to measure on: made by the database itself, the same rows on every engine for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from benchmarks.bulk import Words

RUNS_PER_DAG = 10
TASKS_PER_RUN = 100
ROWS_PER_DAG = RUNS_PER_DAG * TASKS_PER_RUN
MAPPED_TASKS = 3
"""The last of a run's tasks: one of their instances waits, another may be active."""
STARTED_TASKS = 2
"""Further tasks of a run, of which nothing waits."""
PRIORITIES = 10
POOLS = 20
FREE_PER_POOL = 48
"""20 pools with 48 free slots take 960: room for a batch of 512, and hardly a pool fills up on the way."""

TABLES = ("slot_pool", "dag", "task", "dag_run", "task_instance")


@dataclass(frozen=True)
class Uniform:
    """A backlog without hot spots: dags with 10 running runs, each with 100 scheduled task instances.

    20 pools with equal room, 10 priorities. 3 tasks of each dag have a limit that active instances use in part. About
    1.7 further instances per run are queued, running or deferred.
    """

    rows: int = 100_000
    """Scheduled task instances: a multiple of 1,000, which make one dag."""
    seed: int = 1

    def __post_init__(self) -> None:
        if self.rows < ROWS_PER_DAG or self.rows % ROWS_PER_DAG:
            raise ValueError(f"rows must be a multiple of {ROWS_PER_DAG:,}, not {self.rows:,}")

    @property
    def dags(self) -> int:
        return self.rows // ROWS_PER_DAG

    @property
    def runs(self) -> int:
        return self.dags * RUNS_PER_DAG

    def load(self, engine: sa.Engine) -> None:
        """Fill selectq's empty tables, and give the planner fresh statistics."""
        words = Words(engine.dialect.name, self.seed)
        with engine.begin() as connection:
            if words.dialect == "mysql":
                connection.execute(sa.text(f"SET SESSION cte_max_recursion_depth = {max(1000, self.dags)}"))
            for statement in [*self._holders(words), *task_instances(words)]:
                connection.execute(sa.text(statement))
        refresh_statistics(engine)

    def _holders(self, words: Words) -> Iterator[str]:
        pools = words.numbers(POOLS)
        yield f"INSERT INTO slot_pool (pool, slots) SELECT {words.name('pool_', 'i')}, 0 FROM {pools} AS n"
        yield f"INSERT INTO dag (dag_id) SELECT {words.name('dag_', 'i')} FROM {words.numbers(self.dags)} AS n"
        pool = words.name("pool_", words.drawn(POOLS, "pool", "dag_id", "task_id"))
        priority = words.drawn(PRIORITIES, "priority", "dag_id", "task_id")
        limit = words.drawn(2, "limit", "dag_id", "task_id")
        mapped = f"i BETWEEN {TASKS_PER_RUN - MAPPED_TASKS} AND {TASKS_PER_RUN - 1}"
        yield f"""
            INSERT INTO task (
                dag_id, task_id, pool, priority_weight, max_active_tis_per_dag, max_active_tis_per_dagrun
            )
            SELECT
                dag_id, task_id, {pool}, {priority} + 1,
                CASE WHEN {mapped} AND {limit} = 0 THEN 8 END,
                CASE WHEN {mapped} AND {limit} = 1 THEN 1 END
            FROM (
                SELECT dag_id, {words.name("task_", "i")} AS task_id, i
                FROM dag CROSS JOIN {words.numbers(TASKS_PER_RUN + STARTED_TASKS)} AS n
            ) AS t
        """
        # Hours to a day apart, so that the oldest candidates belong to many runs of some dags and few of others.
        start = words.drawn(20_000, "start", "dag_id")
        interval = f"60 * (1 + {words.drawn(24, 'interval', 'dag_id')})"
        yield f"""
            INSERT INTO dag_run (dag_id, run_id, state, logical_date)
            SELECT dag_id, {words.name("run_", "i")}, 'running', {words.minutes_later(f"{start} + i * {interval}")}
            FROM dag CROSS JOIN {words.numbers(RUNS_PER_DAG)} AS n
        """


def task_instances(words: Words) -> Iterator[str]:
    """From the tasks and dag runs that are there: what waits, what is active, and pools with room beside it."""
    key = ("r.dag_id", "r.run_id", "t.task_id")
    is_mapped = "(t.max_active_tis_per_dag IS NOT NULL OR t.max_active_tis_per_dagrun IS NOT NULL)"
    waits = f"t.task_id < {words.name('task_', str(TASKS_PER_RUN))}"

    def insert(state: str, mapped_index: int, condition: str) -> str:
        return f"""
            INSERT INTO task_instance (
                dag_id, run_id, task_id, map_index, state, logical_date, pool, pool_slots, priority_weight
            )
            SELECT
                {", ".join(key)}, CASE WHEN {is_mapped} THEN {mapped_index} ELSE -1 END, {state},
                r.logical_date, t.pool, t.pool_slots, t.priority_weight
            FROM dag_run AS r JOIN task AS t ON t.dag_id = r.dag_id
            WHERE {condition}
        """

    yield insert("'scheduled'", 1, waits)
    state = f"CASE {words.drawn(4, 'state', *key)} WHEN 0 THEN 'queued' WHEN 1 THEN 'deferred' ELSE 'running' END"
    yield insert(state, 0, f"({is_mapped} OR NOT {waits}) AND {words.drawn(3, 'active', *key)} = 0")
    yield f"""
        UPDATE slot_pool SET slots = {FREE_PER_POOL} + COALESCE((
            SELECT SUM(ti.pool_slots) FROM task_instance AS ti
            WHERE ti.pool = slot_pool.pool AND ti.state IN ('queued', 'running')
        ), 0)
    """


def refresh_statistics(engine: sa.Engine) -> None:
    """What a server does by itself after a while."""
    command = "ANALYZE TABLE" if engine.dialect.name == "mysql" else "VACUUM ANALYZE"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text(f"{command} {', '.join(TABLES)}"))
