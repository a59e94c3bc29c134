"""What a pass returns: frozen rows, one class per result shape."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

Key = tuple[str, str, str, int]
"""(dag_id, run_id, task_id, map_index); map_index -1 = not mapped."""

RunKey = tuple[str, str]
"""(dag_id, run_id)."""

DECISIONS = ("run", "wait", "skipped", "upstream_failed", "removed")
"""What a trigger rule can make of a task instance that is not scheduled yet."""


@dataclass(frozen=True, slots=True)
class TaskInstanceRow:
    """The four columns that name a task instance."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int

    @property
    def key(self) -> Key:
        return (self.dag_id, self.run_id, self.task_id, self.map_index)


def key_columns(row: TaskInstanceRow) -> dict[str, str | int]:
    """The key as JSON parameters name its columns."""
    return {"dag_id": row.dag_id, "run_id": row.run_id, "task_id": row.task_id, "map_index": row.map_index}


@dataclass(frozen=True, slots=True)
class Selected(TaskInstanceRow):
    """A candidate that may start now (``selection/select_executable``).

    Each ``*_free`` is what its holder had free at its place in the walk, before it takes its own: slots of the pool,
    task instances of the other limits; None = no limit.
    """

    logical_date: datetime | None
    priority_weight: int
    pool: str
    pool_slots: int
    executor: str | None
    pool_free: int | None
    run_free: int
    task_free: int | None
    task_in_run_free: int | None
    executor_free: int | None


def selected_of(row: dict[str, Any]) -> Selected:
    """A row of ``selection/select_executable``, less what it says of the call."""
    del row["more"]
    return Selected(**row)


@dataclass(frozen=True, slots=True)
class Claimed(TaskInstanceRow):
    """A task instance that is now queued under a claim of its own (``selection/claim``)."""

    pool: str
    pool_slots: int
    priority_weight: int
    executor: str | None
    try_number: int
    queued_dttm: datetime
    queued_by: str | None
    claim_token: UUID


@dataclass(frozen=True, slots=True)
class Found(TaskInstanceRow):
    """A task instance in whatever state (``selection/task_instances``); state None = not scheduled yet."""

    state: str | None
    pool: str
    pool_slots: int
    priority_weight: int


@dataclass(frozen=True, slots=True)
class Reason:
    """One limit that a task instance does not fit.

    ``limit`` is ``pool``, ``no_pool``, ``max_active_tasks``, ``max_active_tis_per_dag``, ``max_active_tis_per_dagrun``,
    ``executor``, ``max_tis``, ``paused`` or ``dag_run_state``. ``holder`` names what carries it: (pool,),
    (dag_id, run_id), (dag_id, task_id), (dag_id, run_id, task_id), (executor,), () for the pass, (dag_id,) for
    ``paused``. ``used`` and ``capacity`` count slots for a pool, else task instances, at its place in the walk; None
    where there is nothing to count. ``never``: it can't start however long it waits, unless somebody changes the limit.
    """

    limit: str
    holder: tuple[str, ...]
    used: int | None
    capacity: int | None
    never: bool


@dataclass(frozen=True, slots=True)
class Blocked(TaskInstanceRow):
    """A scheduled task instance that is not admitted, and why (``selection/blocked_by``)."""

    pool: str
    pool_slots: int
    reasons: tuple[Reason, ...]

    @property
    def never(self) -> bool:
        return any(reason.never for reason in self.reasons)


@dataclass(frozen=True, slots=True)
class UpstreamCount:
    """Task instances of one task in one run that are in one state (``upstream/counts``); state None = not scheduled."""

    dag_id: str
    run_id: str
    task_id: str
    is_setup: bool
    state: str | None
    instances: int


@dataclass(frozen=True, slots=True)
class Changed(TaskInstanceRow):
    """A task instance that was put into the state that was decided (``upstream/apply``)."""

    state: str


@dataclass(frozen=True, slots=True)
class Decision(TaskInstanceRow):
    """What becomes of a task instance that is not scheduled yet (``upstream/decide``).

    ``decision`` is one of ``DECISIONS``. ``reason`` says what decided: ``rule``, ``setups`` (relevant ones that are no
    direct upstreams), ``scope`` (a teardown waits for what is between its setups and it), ``expansion``, ``delay``
    (``not_before``), ``past`` (the run before). A row that ``is_placeholder`` stands for instances that are still to
    be made: ``run`` says that they may be, and the row itself never starts.

    The counts are of the task instances of its direct upstreams that it looks at: ``expected`` in all, those still to
    come included, and the finished ones by state; ``setups*`` of those of setups alone; ``indirect_setups*`` of
    relevant setups that are no direct upstreams; ``scope_open`` are the unfinished ones of a teardown's scope.
    """

    is_placeholder: bool
    state: str | None
    trigger_rule: str
    decision: str
    reason: str
    expected: int
    success: int
    skipped: int
    failed: int
    upstream_failed: int
    removed: int
    setups: int
    setups_success: int
    setups_skipped: int
    indirect_setups: int
    indirect_setups_success: int
    scope_open: int
