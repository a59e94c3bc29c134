"""What a scenario file says, checked: frozen records, one per list of the format (``tests/cases/FORMAT.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from selectq.rows import Key


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool; ``slots`` -1 is unlimited, 0 admits nothing."""

    pool: str
    slots: int
    include_deferred: bool


@dataclass(frozen=True, slots=True)
class Dag:
    """A dag; ``max_active_tasks`` bounds each of its runs."""

    dag_id: str
    max_active_tasks: int
    is_paused: bool


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a dag; limits of ``None`` are no limits; ``upstream`` holds task ids of the same dag."""

    dag_id: str
    task_id: str
    max_active_tis_per_dag: int | None
    max_active_tis_per_dagrun: int | None
    upstream: tuple[str, ...]
    trigger_rule: str
    retries: int


@dataclass(frozen=True, slots=True)
class Run:
    """A dag run; ``logical_date`` is in UTC."""

    dag_id: str
    run_id: str
    state: str
    run_type: str
    logical_date: datetime | None


@dataclass(frozen=True, slots=True)
class Instances:
    """One entry of ``task_instances``: ``count`` rows with map_index ``first``, ``first`` + 1, ..., alike otherwise."""

    dag_id: str
    run_id: str
    task_id: str
    first: int
    count: int
    state: str | None
    pool: str
    pool_slots: int
    priority_weight: int
    try_number: int


@dataclass(frozen=True, slots=True)
class Group:
    """Which rows a count is about; ``None`` stands for any."""

    dag_id: str
    run_id: str | None
    task_id: str | None

    def holds(self, key: Key) -> bool:
        """Whether the row of this key belongs to the group."""
        return self.dag_id == key[0] and self.run_id in (None, key[1]) and self.task_id in (None, key[2])

    def __str__(self) -> str:
        return ", ".join(part for part in (self.dag_id, self.run_id, self.task_id) if part is not None)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected answer of one pass.

    Exactly one of ``selected`` (the rows in order) and ``selected_counts`` (rows per group, none outside) is given.
    ``blocked`` (reason per row) and ``blocked_counts`` (rows per group and reason) may be ``None``: not given.
    """

    selected: tuple[Key, ...] | None
    selected_counts: dict[Group, int] | None
    blocked: dict[Key, str] | None
    blocked_counts: dict[tuple[Group, str], int] | None


@dataclass(frozen=True, slots=True)
class Step:
    """One pass: what happens before it, and the answer expected of it. ``max_tis`` is the number that holds in it."""

    finish: tuple[Key, ...]
    set_state: tuple[tuple[Key, str | None], ...]
    max_tis: int
    expect: Expectation


@dataclass(frozen=True, slots=True)
class Scenario:
    """A whole file of kind ``select``; the first step is the case itself, then one per entry of ``then``."""

    id: str
    title: str
    pools: tuple[Pool, ...]
    dags: tuple[Dag, ...]
    tasks: tuple[Task, ...]
    dag_runs: tuple[Run, ...]
    task_instances: tuple[Instances, ...]
    steps: tuple[Step, ...]
