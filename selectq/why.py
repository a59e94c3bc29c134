"""Why task instances are not running: one plain sentence each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from selectq.rows import Blocked, Found, Key, Reason
from selectq.selection import blocked_by, select, task_instances
from selectq.why_unscheduled import unscheduled

UNDECIDED = (None, "up_for_retry", "up_for_reschedule")

UNITS = {
    "max_active_tasks": "max_active_tasks of dag run {0} {1}",
    "max_active_tis_per_dag": "max_active_tis_per_dag of task {0} {1}, over all runs",
    "max_active_tis_per_dagrun": "max_active_tis_per_dagrun of task {2} in run {0} {1}",
    "executor": "executor {0!r}",
    "max_tis": "max_tis of the pass",
}


@dataclass(frozen=True)
class Why:
    """What keeps one task instance from starting.

    ``verdict`` is ``may start``, ``waits``, ``never`` (not unless somebody changes a limit) or ``not waiting`` (its
    state is not ``scheduled``); of one that is not scheduled yet ``waits``, ``may be scheduled``, or the state that its
    upstreams give it. ``place`` is its place among those that may start, from 1.
    """

    key: Key
    state: str | None
    verdict: str
    text: str
    place: int | None = None
    reasons: tuple[Reason, ...] = ()


def why(
    connection: sa.Connection,
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: int | None = None,
    *,
    max_tis: int = 512,
    executor_slots: Mapping[str, int] | None = None,
    page_size: int = 100,
) -> list[Why]:
    """Explain every instance of a task in a run, or the one of ``map_index``; by map_index, at most ``page_size``.

    Raises:
        InvalidParameterError: a parameter is wrong.
        SchemaVersionError: the tables are missing.
    """
    found = task_instances(connection, dag_id, run_id, task_id, map_index, page_size)
    undecided: dict[Key, tuple[str, str]] = {}
    if any(row.state in UNDECIDED for row in found):
        undecided = unscheduled(connection, dag_id, run_id, task_id)
    if not any(row.state == "scheduled" for row in found):
        return [explain(row, undecided=undecided.get(row.key)) for row in found]
    admitted = select(connection, max_tis, executor_slots)
    places = {row.key: place for place, row in enumerate(admitted, start=1)}
    blocked = blocked_by(
        connection,
        max_tis,
        executor_slots,
        dag_id=dag_id,
        run_id=run_id,
        task_id=task_id,
        map_index=map_index,
        page_size=page_size,
        admitted=admitted,
    )
    by_key = {row.key: row for row in blocked}
    return [
        explain(row, by_key.get(row.key), places.get(row.key), len(admitted), undecided.get(row.key)) for row in found
    ]


def explain(
    row: Found,
    blocked: Blocked | None = None,
    place: int | None = None,
    admitted: int = 0,
    undecided: tuple[str, str] | None = None,
) -> Why:
    if undecided is not None:
        return Why(row.key, row.state, *undecided)
    if blocked is not None:
        verdict = "never" if blocked.never else "waits"
        text = "; ".join(sentence(reason, row.pool_slots) for reason in blocked.reasons)
        return Why(
            row.key,
            row.state,
            verdict,
            f"{'can never start' if blocked.never else 'waits'}: {text}",
            reasons=blocked.reasons,
        )
    if place is not None:
        return Why(row.key, row.state, "may start", f"may start now: number {place} of {admitted} in this pass", place)
    if row.state == "scheduled":
        return Why(row.key, row.state, "waits", "waits: its row changed while it was looked at; ask again")
    state = "not scheduled yet: its upstreams are not decided" if row.state is None else row.state
    return Why(row.key, row.state, "not waiting", f"is not waiting for a limit: {state}")


def sentence(reason: Reason, pool_slots: int) -> str:
    """What stops it, how full that is, and what would let it go."""
    if reason.limit == "paused":
        return f"dag {reason.holder[0]} is paused; goes on when it is unpaused"
    if reason.limit == "dag_run_state":
        return f"dag run {reason.holder[1]} is not running; goes on when it is"
    if reason.limit == "no_pool":
        return f"there is no pool {reason.holder[0]}; create it, or move the task to a pool that exists"
    if reason.limit == "pool":
        return pool_sentence(reason, pool_slots)
    name = UNITS[reason.limit].format(*reason.holder)
    full = f"{name}: {reason.used} of {reason.capacity} used"
    if reason.never:
        return f"{full}; goes on when the limit is raised above 0"
    if reason.limit == "max_tis":
        return f"{full} by what comes before it; a later pass takes it"
    return f"{full}; goes on when one of them ends"


def pool_sentence(reason: Reason, pool_slots: int) -> str:
    full = f"pool {reason.holder[0]}: {reason.used} of {reason.capacity} slots used, needs {pool_slots}"
    if reason.never:
        return f"{full}; goes on when the pool has at least {pool_slots} slots"
    missing = (reason.used or 0) + pool_slots - (reason.capacity or 0)
    return f"{full}; goes on when {missing} more {'is' if missing == 1 else 'are'} free"
