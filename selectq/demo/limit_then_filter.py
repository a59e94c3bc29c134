"""The usual scheduler loop, here to be compared with: fetch the first ``max_tis`` in order, drop what does not fit.

It is written as schedulers have it, with their usual remedies: pools that are full are left out of the fetch from the
start, and when nothing at all of a fetch fits, the holders that were in the way are left out of the next one. What
remains is what apache/airflow #45636 reports: one TI that fits is enough to end the pass, however much the fetch hid.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator

import sqlalchemy as sa

from selectq.demo.stories import metadata_for
from selectq.rows import Key

Holder = tuple[str, ...]
"""What carries a limit: its kind, then its key."""

# States that use a slot. The demo has no deferred TIs, so this loop need not count them.
ACTIVE = ("queued", "running")


def limit_then_filter(engine: sa.Engine, max_tis: int) -> list[Key]:
    """One pass: start what fits among the first ``max_tis`` candidates, in a transaction of its own.

    Returns:
        The keys of the TIs that it marked ``queued``.
    """
    tables = metadata_for(engine.dialect.name).tables
    ti = tables["task_instance"]
    with engine.begin() as connection:
        slots = {row.pool: row.slots for row in connection.execute(sa.select(tables["slot_pool"]).with_for_update())}
        used = _count_used(connection, ti)
        starved: set[Holder] = {("pool", pool) for pool, bound in slots.items() if 0 <= bound <= used["pool", pool]}
        chosen: list[Key] = []
        while not chosen:
            candidates = connection.execute(_fetch(tables, starved, max_tis)).all()
            before = len(starved)
            for row in candidates:
                full = [holder for holder, bound, weight in _limits(row, slots) if used[holder] + weight > bound]
                starved.update(full)
                if not full:
                    chosen.append((row.dag_id, row.run_id, row.task_id, row.map_index))
                    for holder, _, weight in _limits(row, slots):
                        used[holder] += weight
            if len(candidates) < max_tis or len(starved) == before:
                break
        if chosen:
            connection.execute(
                ti.update()
                .where(sa.tuple_(ti.c.dag_id, ti.c.run_id, ti.c.task_id, ti.c.map_index).in_(chosen))
                .where(ti.c.state == "scheduled")
                .values(state="queued", queued_dttm=datetime.datetime.now(datetime.UTC), queued_by="limit-then-filter")
            )
    return chosen


def _count_used(connection: sa.Connection, ti: sa.Table) -> Counter[Holder]:
    group = (ti.c.pool, ti.c.dag_id, ti.c.run_id, ti.c.task_id)
    totals = (sa.func.count().label("tis"), sa.func.sum(ti.c.pool_slots).label("slots"))
    used: Counter[Holder] = Counter()
    for row in connection.execute(sa.select(*group, *totals).where(ti.c.state.in_(ACTIVE)).group_by(*group)):
        used["pool", row.pool] += int(row.slots)
        used["run", row.dag_id, row.run_id] += row.tis
        used["task", row.dag_id, row.task_id] += row.tis
        used["task in run", row.dag_id, row.run_id, row.task_id] += row.tis
    return used


def _limits(row: sa.Row[tuple[object, ...]], slots: dict[str, int]) -> Iterator[tuple[Holder, int, int]]:
    """Each limited holder of a candidate: holder, bound, what the candidate would take of it."""
    bound: int | None
    if (bound := slots.get(row.pool, 0)) >= 0:
        yield ("pool", row.pool), bound, row.pool_slots
    yield ("run", row.dag_id, row.run_id), row.max_active_tasks, 1
    if (bound := row.max_active_tis_per_dag) is not None:
        yield ("task", row.dag_id, row.task_id), bound, 1
    if (bound := row.max_active_tis_per_dagrun) is not None:
        yield ("task in run", row.dag_id, row.run_id, row.task_id), bound, 1


def _fetch(
    tables: sa.util.FacadeDict[str, sa.Table], starved: set[Holder], max_tis: int
) -> sa.Select[tuple[object, ...]]:
    ti, dag, run, task = (tables[name] for name in ("task_instance", "dag", "dag_run", "task"))
    key = {
        "pool": (ti.c.pool,),
        "run": (ti.c.dag_id, ti.c.run_id),
        "task": (ti.c.dag_id, ti.c.task_id),
        "task in run": (ti.c.dag_id, ti.c.run_id, ti.c.task_id),
    }
    query = (
        sa.select(
            ti.c.dag_id, ti.c.run_id, ti.c.task_id, ti.c.map_index, ti.c.pool, ti.c.pool_slots,
            dag.c.max_active_tasks, task.c.max_active_tis_per_dag, task.c.max_active_tis_per_dagrun,
        )
        .join(dag, ti.c.dag_id == dag.c.dag_id)
        .join(run, (ti.c.dag_id == run.c.dag_id) & (ti.c.run_id == run.c.run_id))
        .join(task, (ti.c.dag_id == task.c.dag_id) & (ti.c.task_id == task.c.task_id))
        .where(ti.c.state == "scheduled", run.c.state == "running", ~dag.c.is_paused)
        .order_by(
            ti.c.priority_weight.desc(), ti.c.logical_date.is_(None), ti.c.logical_date,
            ti.c.dag_id, ti.c.run_id, ti.c.task_id, ti.c.map_index,
        )
        .limit(max_tis)
    )
    for kind, columns in key.items():
        full = sorted(holder[1:] for holder in starved if holder[0] == kind)
        if full:
            query = query.where(sa.tuple_(*columns).not_in(full))
    return query
