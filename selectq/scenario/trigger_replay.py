"""Run a trigger scenario on a server: each step decides all that is not scheduled yet, and changes nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from selectq import upstream
from selectq.rows import Key
from selectq.scenario.changes import make_changes
from selectq.scenario.compare import show, some
from selectq.scenario.trigger_model import TriggerScenario, TriggerStep


@dataclass(frozen=True, slots=True)
class TriggerStepResult:
    """The decisions of one step, by key, in the order in which they were returned."""

    decisions: dict[Key, str]

    def as_dict(self) -> dict[str, Any]:
        return {"decisions": [{"key": list(key), "decision": decision} for key, decision in self.decisions.items()]}


def run_trigger_step(
    connection: sa.Connection, scenario: TriggerScenario, step: TriggerStep
) -> tuple[TriggerStepResult, list[str]]:
    """Decide, and what differs from the expectation, which need not list all rows."""
    make_changes(connection, step.finish, step.set_state)
    runs = [(run.dag_id, run.run_id) for run in scenario.dag_runs]
    decisions = {row.key: row.decision for row in upstream.decide(connection, runs)}
    return TriggerStepResult(decisions), differing(step.decisions, decisions)


def differing(expected: Mapping[Key, str], decisions: Mapping[Key, str]) -> list[str]:
    return some(
        f"{show(key)}: expected {wanted}, got {decisions.get(key, 'no decision: it is not waiting to be scheduled')}"
        for key, wanted in expected.items()
        if decisions.get(key) != wanted
    )
