"""Decide and apply again and again, until nothing changes: a skip may make what comes after it skip too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from selectq.rows import Changed, Decision, Key, RunKey

MOST_ROUNDS = 100
"""Each round finishes a task instance for good or is the last, so that there is an end to it in any case."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of the task instances of some runs.

    ``changed``: in the order in which they were changed, with their new states. ``to_expand``: placeholders whose
    instances may be made now (``SchedulerPass.expand``). ``rounds``: of deciding and applying. ``is_complete``: nothing
    more is to be changed; False if the bound was met first, and a later pass goes on.
    """

    changed: tuple[Changed, ...]
    to_expand: tuple[Key, ...]
    rounds: int
    is_complete: bool

    def keys(self, state: str) -> list[Key]:
        """What was put into this state: ``scheduled``, ``skipped``, ``upstream_failed`` or ``removed``."""
        return [row.key for row in self.changed if row.state == state]


def settle(
    runs: Iterable[RunKey],
    most_rounds: int,
    decide: Callable[[Sequence[RunKey]], Sequence[Decision]],
    apply: Callable[[Sequence[Decision]], Sequence[Changed]],
) -> Settled:
    """Decide for all runs, then for those in which something finished, as long as something does.

    Args:
        decide: what does not wait in these runs.
        apply: makes the changes and commits; returns what was changed.
    """
    todo = list(runs)
    changed: list[Changed] = []
    to_expand: dict[RunKey, list[Key]] = {}
    rounds = 0
    while todo and rounds < most_rounds:
        rounds += 1
        decisions = decide(todo)
        for run in todo:
            to_expand[run] = []
        for row in decisions:
            if row.is_placeholder and row.decision == "run":
                to_expand[row.key[:2]].append(row.key)
        done = apply(decisions)
        changed += done
        # What is merely scheduled decides nothing for what comes after it.
        finished = {row.key[:2] for row in done if row.state != "scheduled"}
        todo = [run for run in todo if run in finished]
    ready = tuple(key for keys in to_expand.values() for key in keys)
    return Settled(tuple(changed), ready, rounds, is_complete=not todo)
