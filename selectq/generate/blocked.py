"""Why scheduled task instances are not admitted: one window query, the same on both engines but for reading JSON."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.selectable import LateralFromClause

from selectq.generate import given
from selectq.generate.render import Generated, parameter
from selectq.generate.usage import (
    active,
    counted,
    dag,
    pool_capacity,
    slot_pool,
    task,
    ti,
    used_by_pool,
    used_by_run,
    used_by_task,
    used_by_task_in_run,
)
from selectq.schema import metadata

dag_run = metadata.tables["dag_run"]

KEY = ("dag_id", "run_id", "task_id", "map_index")
NONE: sa.ColumnElement[Any] = sa.cast(sa.null(), sa.Integer)
FALSE: sa.ColumnElement[bool] = sa.literal_column("FALSE")
TRUE: sa.ColumnElement[bool] = sa.literal_column("TRUE")


def text(value: str) -> sa.ColumnElement[str]:
    return sa.literal_column(f"'{value}'")


def number(value: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(value))


def same(left: sa.FromClause, right: sa.FromClause, *names: str) -> sa.ColumnElement[bool]:
    return sa.and_(*(left.c[name] == right.c[name] for name in names))


ROW = (
    *(ti.c[name] for name in KEY),
    ti.c.logical_date,
    ti.c.priority_weight,
    ti.c.pool,
    ti.c.pool_slots,
    sa.func.coalesce(ti.c.executor, text("")).label("executor"),
)


def admitted_rows(dialect: str) -> sa.CTE:
    keys = given.keys(dialect, "admitted")
    return sa.select(*ROW, TRUE.label("starts")).join_from(keys, ti, same(ti, keys, *KEY)).cte("admitted")


def wanted(column: sa.ColumnElement[Any], name: str, kind: str = "text") -> sa.ColumnElement[bool]:
    return sa.or_(parameter(name, kind).is_(None), column == parameter(name, kind))


def behind_last_page() -> sa.ColumnElement[bool]:
    """Key order spelled out: MySQL reads an index for this form, not for a comparison of tuples."""
    before: list[sa.ColumnElement[bool]] = []
    choices = []
    for name in KEY:
        mark = parameter(f"after_{name}", "integer" if name == "map_index" else "text")
        choices.append(sa.and_(*before, ti.c[name] > mark))
        before.append(ti.c[name] == mark)
    return sa.or_(*choices)


def page_rows(admitted: sa.CTE) -> sa.CTE:
    started = sa.exists().where(same(admitted, ti, *KEY))
    return (
        sa.select(*ROW, FALSE.label("starts"))
        # In the order of pages, whatever the statistics say: otherwise MySQL may sort all rows for each page.
        .prefix_with("/*+ INDEX(task_instance PRIMARY) */", dialect="mysql")
        .where(
            ti.c.state == text("scheduled"),
            wanted(ti.c.dag_id, "dag_id"),
            wanted(ti.c.run_id, "run_id"),
            wanted(ti.c.task_id, "task_id"),
            wanted(ti.c.map_index, "map_index", "integer"),
            wanted(ti.c.pool, "pool"),
            behind_last_page(),
            ~started,
        )
        .order_by(*(ti.c[name] for name in KEY))
        .limit(sa.bindparam("page_size", type_=sa.Integer))
        .cte("page")
    )


def walk_rows(admitted: sa.CTE, page: sa.CTE) -> sa.CTE:
    """Both in the total order, each with what the admitted ones before it take of its holders."""
    both = sa.union_all(sa.select(admitted), sa.select(page)).cte("in_walk")
    order = (
        both.c.priority_weight.desc(),
        both.c.logical_date.is_(None),
        both.c.logical_date,
        *(both.c[name] for name in KEY),
    )
    placed = sa.select(both, sa.func.row_number().over(order_by=order).label("place")).cte("placed")

    def taken(weight: sa.ColumnElement[int], *holder: str) -> sa.ColumnElement[int]:
        return sa.func.sum(sa.case((placed.c.starts, weight), else_=number(0))).over(
            partition_by=[placed.c[name] for name in holder] or None,
            order_by=placed.c.place,
            rows=(None, 0),
        )

    one = number(1)
    return sa.select(
        placed,
        taken(one).label("pass_taken"),
        taken(placed.c.pool_slots, "pool").label("pool_taken"),
        taken(one, "dag_id", "run_id").label("run_taken"),
        taken(one, "dag_id", "task_id").label("task_taken"),
        taken(one, "dag_id", "run_id", "task_id").label("task_in_run_taken"),
        taken(one, "executor").label("executor_taken"),
    ).cte("walk")


def judged_rows(dialect: str, walk: sa.CTE, limit: sa.FromClause) -> sa.CTE:
    """Used and capacity of each holder as the row meets it at its place."""
    rows = active(dialect)
    pool, run = used_by_pool(rows), used_by_run(rows)
    over_runs, in_run = used_by_task(rows), used_by_task_in_run(rows)
    return (
        sa.select(
            *(walk.c[name] for name in (*KEY, "pool", "pool_slots", "executor")),
            slot_pool.c.pool.is_(None).label("no_pool"),
            (counted(pool.c.used) + walk.c.pool_taken).label("pool_used"),
            pool_capacity().label("pool_capacity"),
            (counted(run.c.used) + walk.c.run_taken).label("run_used"),
            dag.c.max_active_tasks.label("run_capacity"),
            (counted(over_runs.c.used) + walk.c.task_taken).label("task_used"),
            task.c.max_active_tis_per_dag.label("task_capacity"),
            (counted(in_run.c.used) + walk.c.task_in_run_taken).label("task_in_run_used"),
            task.c.max_active_tis_per_dagrun.label("task_in_run_capacity"),
            walk.c.executor_taken.label("executor_used"),
            limit.c.free.label("executor_capacity"),
            walk.c.pass_taken.label("pass_used"),
            parameter("max_tis", "integer").label("pass_capacity"),
            sa.func.coalesce(dag.c.is_paused, TRUE).label("is_paused"),
            sa.func.coalesce(dag_run.c.state == text("running"), FALSE).label("is_running"),
        )
        .select_from(
            walk.outerjoin(dag_run, same(dag_run, walk, "dag_id", "run_id"))
            .outerjoin(dag, same(dag, walk, "dag_id"))
            .outerjoin(task, same(task, walk, "dag_id", "task_id"))
            .outerjoin(slot_pool, same(slot_pool, walk, "pool"))
            .outerjoin(pool, same(pool, walk, "pool"))
            .outerjoin(run, same(run, walk, "dag_id", "run_id"))
            .outerjoin(over_runs, same(over_runs, walk, "dag_id", "task_id"))
            .outerjoin(in_run, same(in_run, walk, "dag_id", "run_id", "task_id"))
            .outerjoin(limit, limit.c.executor == walk.c.executor)
        )
        .where(~walk.c.starts)
        .cte("judged")
    )


def reasons(dialect: str, judged: sa.CTE) -> LateralFromClause:
    """Each limit that a row does not fit; only the first two kinds for a row that is no candidate."""
    j = judged.c
    is_candidate = sa.and_(~j.is_paused, j.is_running)

    def reason(
        name: str,
        holder: tuple[str, ...],
        stops: sa.ColumnElement[bool],
        used: sa.ColumnElement[Any] = NONE,
        capacity: sa.ColumnElement[Any] = NONE,
        never: sa.ColumnElement[bool] = FALSE,
    ) -> sa.Select[Any]:
        return (
            sa.select(
                text(name).label("limit_name"),
                given.json_array(dialect, [j[part] for part in holder]).label("holder"),
                used.label("used"),
                capacity.label("capacity"),
                never.label("never"),
            )
            .where(stops)
            .correlate(judged)
        )

    def full(name: str, holder: tuple[str, ...], prefix: str, can_be_never: bool = True) -> sa.Select[Any]:
        used, capacity = j[f"{prefix}_used"], j[f"{prefix}_capacity"]
        never = capacity <= number(0) if can_be_never else FALSE
        return reason(name, holder, sa.and_(is_candidate, used >= capacity), used, capacity, never)

    return sa.union_all(
        reason("paused", ("dag_id",), j.is_paused),
        reason("dag_run_state", ("dag_id", "run_id"), ~j.is_running),
        reason("no_pool", ("pool",), sa.and_(is_candidate, j.no_pool), never=TRUE),
        reason(
            "pool",
            ("pool",),
            sa.and_(is_candidate, j.pool_used + j.pool_slots > j.pool_capacity),
            j.pool_used,
            j.pool_capacity,
            j.pool_slots > j.pool_capacity,
        ),
        full("max_active_tasks", ("dag_id", "run_id"), "run"),
        full("max_active_tis_per_dag", ("dag_id", "task_id"), "task"),
        full("max_active_tis_per_dagrun", ("dag_id", "run_id", "task_id"), "task_in_run"),
        full("executor", ("executor",), "executor", can_be_never=False),
        full("max_tis", (), "pass", can_be_never=False),
    ).lateral("reason")


SORTS_ALL = "a report for people, not part of a pass: without statistics a page may sort all rows that wait"


def blocked_by(dialect: str) -> Generated:
    limit = given.executor_limit(dialect)
    admitted = admitted_rows(dialect)
    judged = judged_rows(dialect, walk_rows(admitted, page_rows(admitted)), limit)
    reason = reasons(dialect, judged)
    return Generated(
        name="selection/blocked_by",
        purpose="For scheduled task instances not admitted: each limit that stops one, at its place in the walk.",
        statement=sa.select(
            *(judged.c[name] for name in (*KEY, "pool", "pool_slots")),
            *(reason.c[name] for name in ("limit_name", "holder", "used", "capacity", "never")),
        )
        .join_from(judged, reason, TRUE)
        .order_by(*(judged.c[name] for name in KEY), reason.c.limit_name),
        parameters={
            "max_tis": "integer; as given to selection/select_executable",
            "executor_slots": "json; as given to selection/select_executable",
            "admitted": "json; [[dag_id, run_id, task_id, map_index], ...] that selection/select_executable returned",
            "dag_id": "text; only of this dag; NULL = any",
            "run_id": "text; only of this run; NULL = any",
            "task_id": "text; only of this task; NULL = any",
            "map_index": "integer; only this map index; NULL = any",
            "pool": "text; only in this pool; NULL = any",
            "after_dag_id": "text; with the next three: the key of the last row of the page before, '' at first",
            "after_run_id": "text; '' at first",
            "after_task_id": "text; '' at first",
            "after_map_index": "integer; -2 at first",
            "page_size": "integer; most task instances to return, at least 1",
        },
        columns={
            "dag_id": "text",
            "run_id": "text",
            "task_id": "text",
            "map_index": "integer",
            "pool": "text",
            "pool_slots": "integer",
            "limit_name": "text; pool, no_pool, max_active_tasks, max_active_tis_per_dag, max_active_tis_per_dagrun, "
            "executor, max_tis, paused or dag_run_state",
            "holder": "json; what carries the limit: [pool], [dag_id, run_id], [dag_id, task_id], ...",
            "used": "integer; slots of a pool, else task instances, the admitted ones before it included",
            "capacity": "integer; likewise",
            "never": "boolean; it can't start however long it waits: too wide for its pool, no such pool, a bound of 0",
        },
        limits="as selection/select_executable",
        plan_waivers={"postgresql": dict.fromkeys(("stale", "bulk"), SORTS_ALL)},
    )
