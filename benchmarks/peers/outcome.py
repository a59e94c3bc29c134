"""What a pass is worth, whoever made it: counted on selectq's tables, where its rows are marked queued for a moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from benchmarks import check, floor
from benchmarks.measure import WrongResultError
from selectq.rows import Key

Holder = tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """``missed``: what more could have been started, within ``max_tis``; ``over``: holders beyond their limit."""

    started: int
    missed: tuple[Key, ...]
    over: tuple[Holder, ...]


def outcome(connection: sa.Connection, keys: Sequence[Key], max_tis: int) -> Outcome:
    """Of a pass that started ``keys``. Changes nothing: what it writes is rolled back.

    Raises:
        WrongResultError: a key is none of a row of these tables, or named twice.
    """
    try:
        started = floor.update(connection, floor.as_parameter(keys)) if keys else 0
        if started != len(keys) or len(set(keys)) != len(keys):
            raise WrongResultError(f"{len(keys)} keys, but {started} rows")
        over = tuple(overfull(connection, keys))
        missed = check.expected(connection, max_tis - started) if started < max_tis else []
    finally:
        connection.rollback()
    return Outcome(started, tuple(missed), over)


def overfull(connection: sa.Connection, keys: Sequence[Key]) -> Iterator[Holder]:
    """Pools, runs, tasks and tasks in a run that more is active in than their bounds allow, among those of ``keys``."""

    def rows(query: str) -> list[check.Row]:
        return list(connection.execute(sa.text(query)))

    used: Counter[Holder] = Counter()
    pool_of = {row.pool: row for row in rows(check.POOLS)}
    for row in rows(check.ACTIVE):
        deferred = row.state == "deferred"
        if not deferred or (row.pool in pool_of and pool_of[row.pool].include_deferred):
            used["pool", row.pool] += row.pool_slots
        if not deferred:
            used["run", row.dag_id, row.run_id] += 1
        used["task", row.dag_id, row.task_id] += 1
        used["task in run", row.dag_id, row.run_id, row.task_id] += 1
    touched = {holder for dag_id, run_id, task_id, _ in keys for holder in holders_of(dag_id, run_id, task_id)}
    bounds: dict[Holder, int | None] = {("pool", name): pool.slots for name, pool in pool_of.items() if pool.slots >= 0}
    dags = {row.dag_id: row.max_active_tasks for row in rows(check.DAGS)}
    tasks = {(row.dag_id, row.task_id): row for row in rows(check.TASKS)}
    for kind, *ids in touched:
        dag_id, task = ids[0], tasks.get((ids[0], ids[-1]))
        if kind == "run":
            bounds[kind, *ids] = dags[dag_id]
        elif task is not None:
            bound = task.max_active_tis_per_dag if kind == "task" else task.max_active_tis_per_dagrun
            bounds[kind, *ids] = bound
    for holder, bound in sorted(bounds.items()):
        if bound is not None and used[holder] > bound:
            yield holder


def holders_of(dag_id: str, run_id: str, task_id: str) -> Iterator[Holder]:
    yield "run", dag_id, run_id
    yield "task", dag_id, task_id
    yield "task in run", dag_id, run_id, task_id
