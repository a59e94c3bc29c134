"""Usage per holder: what active task instances take of each limit (SPEC 2)."""

from __future__ import annotations

import sqlalchemy as sa

from selectq.generate.render import Generated
from selectq.schema import ACTIVE_STATES, metadata

slot_pool = metadata.tables["slot_pool"]
dag = metadata.tables["dag"]
task = metadata.tables["task"]
ti = metadata.tables["task_instance"]

COUNTED = "queued and running; deferred too where noted. Paused flags and run states make no difference"


def active(dialect: str) -> sa.CTE:
    """Rows that some limit counts; few, read through an index."""
    rows = (
        sa.select(ti.c.dag_id, ti.c.run_id, ti.c.task_id, ti.c.state, ti.c.pool, ti.c.pool_slots)
        # Statistics that were taken while the table was empty would make MySQL read all of it.
        .prefix_with("/*+ INDEX(task_instance ix_task_instance_active) */", dialect="mysql")
        .where(ti.c.state.in_([sa.literal_column(f"'{state}'") for state in ACTIVE_STATES]))
    )
    if dialect == "postgresql":
        # Always so; it tells Postgres that the index of active rows by pool has them all.
        rows = rows.where(ti.c.pool >= sa.literal_column("''"))
    return rows.cte("active")


def not_deferred(rows: sa.FromClause) -> sa.ColumnElement[bool]:
    return rows.c.state != sa.literal_column("'deferred'")


def counted(used: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    return sa.func.coalesce(used, sa.literal_column("0"))


def used_by_pool(rows: sa.CTE) -> sa.CTE:
    return (
        sa.select(rows.c.pool, sa.func.sum(rows.c.pool_slots).label("used"))
        .join(slot_pool, slot_pool.c.pool == rows.c.pool)
        .where(sa.or_(not_deferred(rows), slot_pool.c.include_deferred))
        .group_by(rows.c.pool)
        .cte("used_by_pool")
    )


def used_by_run(rows: sa.CTE) -> sa.CTE:
    return (
        sa.select(rows.c.dag_id, rows.c.run_id, sa.func.count().label("used"))
        .where(not_deferred(rows))
        .group_by(rows.c.dag_id, rows.c.run_id)
        .cte("used_by_run")
    )


def used_by_task(rows: sa.CTE) -> sa.CTE:
    return (
        sa.select(rows.c.dag_id, rows.c.task_id, sa.func.count().label("used"))
        .group_by(rows.c.dag_id, rows.c.task_id)
        .cte("used_by_task")
    )


def used_by_task_in_run(rows: sa.CTE) -> sa.CTE:
    return (
        sa.select(rows.c.dag_id, rows.c.run_id, rows.c.task_id, sa.func.count().label("used"))
        .group_by(rows.c.dag_id, rows.c.run_id, rows.c.task_id)
        .cte("used_by_task_in_run")
    )


def pool_capacity() -> sa.ColumnElement[int | None]:
    """Slots of a pool; NULL = unlimited."""
    return sa.func.nullif(slot_pool.c.slots, sa.literal_column("-1"))


def usage_by_pool(dialect: str) -> Generated:
    used = used_by_pool(active(dialect))
    taken = counted(used.c.used)
    return Generated(
        name="selection/usage_by_pool",
        purpose="Slots of every pool: used, capacity, free.",
        statement=sa.select(
            slot_pool.c.pool,
            taken.label("used"),
            pool_capacity().label("capacity"),
            (pool_capacity() - taken).label("free"),
        )
        .join_from(slot_pool, used, used.c.pool == slot_pool.c.pool, isouter=True)
        .order_by(slot_pool.c.pool),
        columns={
            "pool": "text",
            "used": "integer; slots",
            "capacity": "integer; slots; NULL = unlimited",
            "free": "integer; slots; below 0 where the capacity was lowered; NULL = unlimited",
        },
        limits="slots of queued and running task instances; of deferred ones too if the pool has include_deferred",
    )


def usage_by_dag_run(dialect: str) -> Generated:
    used = used_by_run(active(dialect))
    return Generated(
        name="selection/usage_by_dag_run",
        purpose="Active task instances of every dag run that has some, against max_active_tasks.",
        statement=sa.select(
            used.c.dag_id,
            used.c.run_id,
            used.c.used,
            dag.c.max_active_tasks.label("capacity"),
            (dag.c.max_active_tasks - used.c.used).label("free"),
        )
        .join_from(used, dag, dag.c.dag_id == used.c.dag_id)
        .order_by(used.c.dag_id, used.c.run_id),
        columns={
            "dag_id": "text",
            "run_id": "text",
            "used": "integer; task instances",
            "capacity": "integer; max_active_tasks",
            "free": "integer; below 0 where the limit was lowered",
        },
        limits="queued and running task instances of one dag run",
    )


def usage_by_task(dialect: str) -> Generated:
    rows = active(dialect)
    in_run = used_by_task_in_run(rows)
    over_runs = used_by_task(rows)
    return Generated(
        name="selection/usage_by_task",
        purpose="Active task instances of every task in a run that has some, against both task limits.",
        statement=sa.select(
            in_run.c.dag_id,
            in_run.c.run_id,
            in_run.c.task_id,
            in_run.c.used.label("used_in_run"),
            task.c.max_active_tis_per_dagrun.label("capacity_in_run"),
            over_runs.c.used.label("used_over_runs"),
            task.c.max_active_tis_per_dag.label("capacity_over_runs"),
        )
        .join_from(
            in_run,
            over_runs,
            sa.and_(over_runs.c.dag_id == in_run.c.dag_id, over_runs.c.task_id == in_run.c.task_id),
        )
        .outerjoin(task, sa.and_(task.c.dag_id == in_run.c.dag_id, task.c.task_id == in_run.c.task_id))
        .order_by(in_run.c.dag_id, in_run.c.run_id, in_run.c.task_id),
        columns={
            "dag_id": "text",
            "run_id": "text",
            "task_id": "text",
            "used_in_run": "integer; task instances of the task in this run",
            "capacity_in_run": "integer; max_active_tis_per_dagrun; NULL = no limit",
            "used_over_runs": "integer; task instances of the task in all runs",
            "capacity_over_runs": "integer; max_active_tis_per_dag; NULL = no limit",
        },
        limits="queued, running and deferred task instances",
    )
