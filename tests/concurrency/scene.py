"""The world of the stress: few holders that many task instances share, so that schedulers meet all the time."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from selectq import schema
from tests.oracle import Dag, Instance, Pool, Run, Task, World

POOLS = [f"pool_{number}" for number in range(5)]
DAGS = [f"dag_{number}" for number in range(5)]
RUNS = [f"run_{number}" for number in range(4)]
TASKS = [f"task_{number}" for number in range(4)]
MAPPED = 12

SLOTS = (-1, 0, 12, 40, 80, 160)
MAX_ACTIVE = (0, 5, 20, 40)
PER_DAG = (None, None, 4, 12, 30)
PER_RUN = (None, None, 2, 8)

pool, dag, task, ti = (schema.metadata.tables[name] for name in ("slot_pool", "dag", "task", "task_instance"))


def scaled(limit: int | None, scale: int) -> int | None:
    return limit if limit is None or limit < 0 else limit * scale


def first_world(seed: int, scale: int) -> World:
    """All rows scheduled; limits, widths and priorities drawn from the seed; so many times the rows and limits."""
    draw = random.Random(seed)
    day = datetime(2026, 1, 1, tzinfo=UTC)
    keys = [(d, r, t, index) for d in DAGS for r in RUNS for t in TASKS for index in range(MAPPED * scale)]
    return World(
        {name: Pool(draw.choice(SLOTS[2:]) * scale, draw.random() < 0.5) for name in POOLS},
        {name: Dag(draw.choice(MAX_ACTIVE[1:]) * scale) for name in DAGS},
        {
            (d, t): Task(scaled(draw.choice(PER_DAG), scale), scaled(draw.choice(PER_RUN), scale))
            for d in DAGS
            for t in TASKS
        },
        {(d, r): Run("running", day + timedelta(days=number)) for d in DAGS for number, r in enumerate(RUNS)},
        {
            key: Instance("scheduled", draw.choice(POOLS), draw.choice((1, 1, 1, 2, 5)), draw.randint(1, 4))
            for key in keys
        },
    )


def change_of_limit(draw: random.Random, scale: int) -> sa.Update:
    """One limit set to another value, sometimes to none at all."""
    kind = draw.choice(("pool", "pool", "deferred", "dag", "task", "task"))
    if kind == "pool":
        slots = scaled(draw.choice(SLOTS), scale)
        return sa.update(pool).where(pool.c.pool == draw.choice(POOLS)).values(slots=slots)
    if kind == "deferred":
        return sa.update(pool).where(pool.c.pool == draw.choice(POOLS)).values(include_deferred=draw.random() < 0.5)
    if kind == "dag":
        most = draw.choice(MAX_ACTIVE) * scale
        return sa.update(dag).where(dag.c.dag_id == draw.choice(DAGS)).values(max_active_tasks=most)
    return (
        sa.update(task)
        .where(task.c.dag_id == draw.choice(DAGS), task.c.task_id == draw.choice(TASKS))
        .values(
            max_active_tis_per_dag=scaled(draw.choice(PER_DAG), scale),
            max_active_tis_per_dagrun=scaled(draw.choice(PER_RUN), scale),
        )
    )


def lift_all_limits(connection: sa.Connection) -> None:
    connection.execute(sa.update(pool).values(slots=-1))
    connection.execute(sa.update(dag).values(max_active_tasks=1_000_000))
    connection.execute(sa.update(task).values(max_active_tis_per_dag=None, max_active_tis_per_dagrun=None))
