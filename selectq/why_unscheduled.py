"""Why task instances are not scheduled yet: the rule, what it counts, and whom it waits for."""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa

from selectq.rows import Decision, Key
from selectq.upstream import counts, decide, upstream_tasks

FINISHED = ("success", "skipped", "failed", "upstream_failed", "removed")
RELATIONS = {"rule": "direct", "setups": "setup", "scope": "scope", "expansion": "expands"}
"""Reason of a decision -> whom it looks at."""
MOST_NAMED = 5
"""Tasks named one by one; the others are counted."""


def unscheduled(connection: sa.Connection, dag_id: str, run_id: str, task_id: str) -> dict[Key, tuple[str, str]]:
    """(verdict, sentence) for every instance of a task in a run that is not scheduled yet, if its dag is defined.

    The verdict is ``waits``, ``may be scheduled``, or the state that the next pass gives it.
    """
    found = [row for row in decide(connection, [(dag_id, run_id)]) if row.task_id == task_id]
    unfinished: dict[str, str] = {}
    if any(row.decision == "wait" for row in found):
        unfinished = waited_for(connection, dag_id, run_id, task_id)
    return {row.key: explained(row, unfinished) for row in found}


def waited_for(connection: sa.Connection, dag_id: str, run_id: str, task_id: str) -> dict[str, str]:
    """Relation -> its tasks that have not finished, in words."""
    upstreams = upstream_tasks(connection, dag_id, task_id)
    open_states: dict[str, Counter[str]] = {name: Counter() for name, _ in upstreams}
    seen = set()
    for row in counts(connection, [(dag_id, run_id)], [name for name, _ in upstreams]):
        seen.add(row.task_id)
        if row.state not in FINISHED:
            open_states[row.task_id][row.state or "not scheduled"] += row.instances
    told: dict[str, list[str]] = {}
    for name, relation in upstreams:
        if name not in seen:
            told.setdefault(relation, []).append(f"{name} (no task instance yet)")
        elif open_states[name]:
            states = ", ".join(f"{number} {state}" for state, number in sorted(open_states[name].items()))
            told.setdefault(relation, []).append(f"{name} ({states})")
    return {relation: shortened(tasks) for relation, tasks in told.items()}


def shortened(tasks: list[str]) -> str:
    more = len(tasks) - MOST_NAMED
    return ", ".join(tasks[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def explained(row: Decision, unfinished: dict[str, str]) -> tuple[str, str]:
    told = counted(row)
    if row.decision == "wait":
        return "waits", f"is not scheduled yet: {waits(row, unfinished, told)}"
    if row.decision == "run":
        what = "its instances may be made: expand it" if row.is_placeholder else "may be scheduled"
        return "may be scheduled", f"{what}: {told}"
    why = {
        "setups": "by a setup that it needs",
        "expansion": "by what it is expanded over",
    }.get(row.reason, f"by {told}")
    return row.decision, f"becomes {row.decision}, {why}"


def waits(row: Decision, unfinished: dict[str, str], told: str) -> str:
    parents = unfinished.get(RELATIONS.get(row.reason, ""), "")
    for_whom = f"; waits for {parents}" if parents else ""
    if row.reason == "expansion":
        return "waits to be expanded" if row.is_placeholder else f"what it is expanded over has ended{for_whom}"
    if row.reason == "delay":
        return "waits until its time to try again has come"
    if row.reason == "past":
        return "depends_on_past: waits for the run before"
    if row.reason == "setups":
        return f"its setups: {row.indirect_setups_success} of {row.indirect_setups} succeeded{for_whom}"
    if row.reason == "scope":
        return f"a teardown: {row.scope_open} task instances after its setups are not finished{for_whom}"
    return told + for_whom


def counted(row: Decision) -> str:
    if not row.expected:
        return f"trigger rule {row.trigger_rule}, no upstreams"
    finished = [f"{number} {state}" for state in FINISHED if (number := getattr(row, state))]
    done = sum(getattr(row, state) for state in FINISHED)
    listed = f" ({', '.join(finished)})" if finished else ""
    return f"trigger rule {row.trigger_rule}, {done} of {row.expected} upstream task instances finished{listed}"
