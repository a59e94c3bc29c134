"""Replays what the database recorded, commit by commit, against the limits. Imports nothing of selectq.

A claim takes its place in the history when it commits. Usage rises by claims alone, so it is enough to look at each
of them: with it, all that was committed before it and nothing else, does each limit still hold?

Limits change meanwhile. A change of a pool that has a limit before and after it waits for the claims that hold the
pool's lock, and so for max_active_tis_per_dag: there the limit of the moment of the commit counts. The other limits
stand in rows that a claim reads and does not lock: a claim that had begun when such a limit was lowered counts as the
earlier of the two, so it may use what stood there at any time since it began.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from tests.oracle import Key, World

PAGE = 20_000
VISIBLE_WITHIN = timedelta(seconds=0.25)
"""A change is recorded a moment before it can be seen by others."""

AUDIT = sa.table("audit", *(sa.column(name) for name in (
    "seq", "at", "source", "k1", "k2", "k3", "k4", "old", "new", "pool", "slots", "token", "since"
)))  # fmt: skip

IN_POOL = {"queued", "running"}
ACTIVE = {"queued", "running", "deferred"}


@dataclass
class Bound:
    """One limit, and what it was before: (time of the change, value until then)."""

    value: int | None
    was: list[tuple[datetime, int | None]] = field(default_factory=list)

    def change(self, at: datetime, value: int | None) -> None:
        if value != self.value:
            self.was.append((at, self.value))
            self.value = value

    def admits(self, used: int, since: datetime, locked: bool) -> bool:
        """Whether ``used`` is allowed to a claim that began at ``since``.

        Args:
            locked: a claim locks the row if it holds a limit, so only changes from "no limit" may have passed it.
        """
        if self.value is None or used <= self.value:
            return True
        for at, value in reversed(self.was):
            if at + VISIBLE_WITHIN < since:
                return False
            if value is None or (not locked and used <= value):
                return True
        return False


def records(engine: sa.Engine) -> Iterator[Any]:
    """All of the record in order, a page at a time."""
    last = 0
    while True:
        with engine.connect() as connection:
            page = connection.execute(
                sa.select(AUDIT).where(AUDIT.c.seq > last).order_by(AUDIT.c.seq).limit(PAGE)
            ).all()
        if not page:
            return
        yield from page
        last = page[-1].seq


def number(text: str) -> int | None:
    return int(text) if text else None


class Replay:
    """The state of the world after each commit.

    Attributes:
        faults: what was wrong, in words; empty if all is well.
        tokens: every claim token that was committed.
        claims: how many claims were committed.
    """

    def __init__(self, world: World) -> None:
        self.faults: list[str] = []
        self.tokens: set[UUID] = set()
        self.state: dict[Key, str | None] = {key: row.state for key, row in world.instances.items()}
        self.width = {key: row.pool_slots for key, row in world.instances.items()}
        self.pool = {key: row.pool for key, row in world.instances.items()}
        self.slots = {name: Bound(None if row.slots == -1 else row.slots) for name, row in world.pools.items()}
        self.with_deferred = {name: row.include_deferred for name, row in world.pools.items()}
        self.per_run = {name: Bound(row.max_active_tasks) for name, row in world.dags.items()}
        self.per_task = {key: Bound(row.max_active_tis_per_dag) for key, row in world.tasks.items()}
        self.per_task_in_run = {key: Bound(row.max_active_tis_per_dagrun) for key, row in world.tasks.items()}
        self.used: Counter[tuple[object, ...]] = Counter()
        for key in self.state:
            self.count(key, +1)

    @property
    def claims(self) -> int:
        return len(self.tokens)

    def play(self, history: Iterable[Any]) -> None:
        for row in history:
            if row.source == "ti":
                self.task_instance(row)
            else:
                self.limit(row)

    def limit(self, row: Any) -> None:
        if row.source == "pool":
            slots, include = row.new.split(" ")
            self.slots[row.k1].change(row.at, None if slots == "-1" else int(slots))
            self.with_deferred[row.k1] = include == "1"
        elif row.source == "dag":
            self.per_run[row.k1].change(row.at, int(row.new))
        else:
            per_task, per_task_in_run = row.new.split(" ")
            self.per_task[row.k1, row.k2].change(row.at, number(per_task))
            self.per_task_in_run[row.k1, row.k2].change(row.at, number(per_task_in_run))

    def task_instance(self, row: Any) -> None:
        key: Key = (row.k1, row.k2, row.k3, row.k4)
        if row.old != self.state[key]:
            self.faults.append(f"{row.seq}: {key} was {self.state[key]}, and not {row.old} as the record says")
        self.count(key, -1)
        self.state[key], self.pool[key], self.width[key] = row.new, row.pool, row.slots
        self.count(key, +1)
        if row.new == "queued":
            self.claim(key, row)

    def count(self, key: Key, sign: int) -> None:
        dag_id, run_id, task_id, _ = key
        state = self.state[key]
        if state in IN_POOL:
            self.used["pool", self.pool[key]] += sign * self.width[key]
            self.used["run", dag_id, run_id] += sign
        if state == "deferred":
            self.used["deferred", self.pool[key]] += sign * self.width[key]
        if state in ACTIVE:
            self.used["task", dag_id, task_id] += sign
            self.used["task in run", dag_id, run_id, task_id] += sign

    def claim(self, key: Key, row: Any) -> None:
        token = row.token if isinstance(row.token, UUID) else UUID(row.token)
        if row.old != "scheduled":
            self.faults.append(f"{row.seq}: {key} was claimed out of state {row.old}")
        if token in self.tokens:
            self.faults.append(f"{row.seq}: {key} has the claim token of an earlier claim, {token}")
        self.tokens.add(token)
        dag_id, run_id, task_id, _ = key
        name = self.pool[key]
        in_pool = self.used["pool", name] + (self.used["deferred", name] if self.with_deferred[name] else 0)
        for what, used, bound, locked in (
            (f"pool {name}", in_pool, self.slots[name], True),
            (f"dag run {dag_id} {run_id}", self.used["run", dag_id, run_id], self.per_run[dag_id], False),
            (f"task {dag_id} {task_id}", self.used["task", dag_id, task_id], self.per_task[dag_id, task_id], True),
            (
                f"task in run {dag_id} {run_id} {task_id}",
                self.used["task in run", dag_id, run_id, task_id],
                self.per_task_in_run[dag_id, task_id],
                False,
            ),
        ):
            if not bound.admits(used, row.since, locked):
                self.faults.append(f"{row.seq}: the claim of {key} takes {what} to {used} of {bound.value}")
