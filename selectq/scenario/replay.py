"""Run a scenario on a server: each step selects, asks what is blocked, claims, and is compared with its expectation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from selectq import schema, selection
from selectq.database import connect
from selectq.rows import Blocked, Key, Selected
from selectq.scenario.compare import compare, show, some
from selectq.scenario.filequeue import QueueStep, run_queue
from selectq.scenario.filequeue_model import QueueScenario
from selectq.scenario.load import load
from selectq.scenario.model import Scenario, Step

ROWS_PER_PAGE = 100_000
"""Each page costs a walk over all that is blocked, so few large ones; memory grows with this."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """The answer of one pass: rows in order; every other scheduled row, by key, with the limits that stop it."""

    selected: tuple[Key, ...]
    blocked: dict[Key, tuple[str, ...]]

    def as_dict(self) -> dict[str, Any]:
        """Its part of what ``selectq replay --json`` prints."""
        return {
            "selected": [list(key) for key in self.selected],
            "blocked": [{"key": list(key), "by": list(by)} for key, by in self.blocked.items()],
        }


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A scenario that was run; ``engine`` is ``postgresql`` or ``mysql``, ``differences`` are sentences."""

    case: str
    engine: str
    steps: tuple[StepResult, ...] | tuple[QueueStep, ...]
    differences: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every step answered as expected."""
        return not self.differences

    def as_dict(self) -> dict[str, Any]:
        """What ``selectq replay --json`` prints."""
        return {
            "case": self.case,
            "engine": self.engine,
            "ok": self.ok,
            "steps": [step.as_dict() for step in self.steps],
            "differences": list(self.differences),
        }


def replay(engine: sa.Engine, scenario: Scenario | QueueScenario) -> ReplayResult:
    """Run a scenario in one transaction that is rolled back: the tables, which must be empty, are empty afterwards.

    Raises:
        SelectqError: the database can't be used: unreachable, unsupported, or with another schema.
    """
    if isinstance(scenario, QueueScenario):
        with connect(engine) as connection:
            ticks, wrong = run_queue(connection, scenario)
            connection.rollback()
        return ReplayResult(scenario.id, engine.dialect.name, tuple(ticks), tuple(wrong))
    steps: list[StepResult] = []
    differences: list[str] = []
    with connect(engine) as connection:
        load(connection, scenario)
        for number, step in enumerate(scenario.steps, start=1):
            result, wrong = run_step(connection, step)
            steps.append(result)
            differences += [f"step {number}: {sentence}" for sentence in wrong]
        connection.rollback()
    return ReplayResult(scenario.id, engine.dialect.name, tuple(steps), tuple(differences))


def run_step(connection: sa.Connection, step: Step) -> tuple[StepResult, list[str]]:
    for key in step.finish:
        set_state(connection, key, "success")
    for key, state in step.set_state:
        set_state(connection, key, state)
    admitted = selection.select(connection, step.max_tis)
    selected = tuple(row.key for row in admitted)
    blocked = {
        row.key: tuple(reason.limit for reason in row.reasons)
        for row in all_blocked(connection, step.max_tis, admitted)
    }
    claimed = {row.key for row in selection.claim(connection, step.max_tis)}
    differences = compare(step.expect, selected, blocked)
    differences += some(f"{show(key)} was selected, but not claimed" for key in selected if key not in claimed)
    differences += some(f"{show(key)} was claimed, but not selected" for key in claimed.difference(selected))
    return StepResult(selected, blocked), differences


def all_blocked(connection: sa.Connection, max_tis: int, admitted: list[Selected]) -> Iterator[Blocked]:
    after = None
    while page := selection.blocked_by(connection, max_tis, after=after, page_size=ROWS_PER_PAGE, admitted=admitted):
        yield from page
        after = page[-1].key


def set_state(connection: sa.Connection, key: Key, state: str | None) -> None:
    """Move a row by hand; a claim on it is void then."""
    table = schema.metadata.tables["task_instance"]
    names = ("dag_id", "run_id", "task_id", "map_index")
    row = [table.c[name] == value for name, value in zip(names, key, strict=True)]
    connection.execute(sa.update(table).where(*row).values(state=state, claim_token=None))
