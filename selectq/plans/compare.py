"""Plans held against baselines and rules; waivers in the query files."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from selectq.catalogue import PlanWaiver
from selectq.plans.baseline import ALL_TABLES, Shape

WHOLE = ("Seq Scan", "Parallel Seq Scan", "Table scan")
"""Ways of reading every row of a table."""
MUCH = 100_000
"""Rows of a table of holders: a small one may be scanned a few times, which says nothing of larger ones."""
RULES = ("backlog", "rows", "steps", "baseline")


@dataclass(frozen=True)
class Difference:
    """What is wrong with a plan in one place.

    ``rule`` is one of ``RULES``; ``subjects`` are the names under which a waiver can speak of it; ``diff`` is empty or
    the lines of a unified diff from the expected to the actual plan.
    """

    query: str
    server: str
    place: str
    rule: str
    reason: str
    subjects: frozenset[str]
    diff: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where a plan was asked for; ``all_rows``: tables that are not to be read whole, with what counts as that."""

    query: str
    server: str
    workload: str
    rows: int
    state: str
    all_rows: Mapping[str, int]

    @property
    def name(self) -> str:
        return f"{self.workload}/{self.rows}/{self.state}"

    def difference(self, rule: str, reason: str, *subjects: str, diff: Iterable[str] = ()) -> Difference:
        own = (f"{self.workload}/{self.state}", self.workload, self.state, rule)
        return Difference(self.query, self.server, self.name, rule, reason, frozenset((*own, *subjects)), tuple(diff))


def reads_backlog(place: Place, shape: Shape) -> Iterator[Difference]:
    """No query may read all of a large table, or look through another one again and again, whatever its baseline."""
    for table in sorted(place.all_rows):
        for path in shape.access.get(table, ()):
            if path in WHOLE:
                yield place.difference("backlog", f"{table} is read from end to end: {path}", table)
    much = max(MUCH, *place.all_rows.values())
    for table, read in sorted(shape.rows.items()):
        if table == ALL_TABLES:
            continue
        most = place.all_rows.get(table, much)
        if read >= most:
            reason = f"{read:,} rows of {table} are read, expected: fewer than {most:,}, whatever the baseline says"
            yield place.difference("backlog", reason, table)


def compare(place: Place, expected: Sequence[Shape], actual: Shape) -> list[Difference]:
    """How a plan differs from the baseline, or of several plans in it from the nearest."""
    if not expected:
        reason = "there is no baseline for it; --update writes one"
        return [place.difference("baseline", reason, diff=plan_diff((), actual.steps))]
    return min((list(differences(place, shape, actual)) for shape in expected), key=len)


def differences(place: Place, expected: Shape, actual: Shape) -> Iterator[Difference]:
    """How a plan differs from one that is expected."""
    diff = plan_diff(expected.steps, actual.steps)
    for table in sorted(expected.access.keys() | actual.access.keys()):
        before, now = expected.access.get(table, ()), actual.access.get(table, ())
        if before != now:
            reason = f"{table} is read by {listed(now)}, expected: {listed(before)}"
            yield place.difference("steps", reason, table, diff=diff)
    before_kinds, now_kinds = kinds(expected.steps), kinds(actual.steps)
    for kind in sorted(before_kinds.keys() | now_kinds.keys()):
        if before_kinds[kind] != now_kinds[kind]:
            reason = f"{now_kinds[kind]} x {kind}, expected: {before_kinds[kind]}"
            yield place.difference("steps", reason, kind, diff=diff)
    if expected.steps != actual.steps and before_kinds == now_kinds and expected.access == actual.access:
        yield place.difference("steps", "the same steps in another order", diff=diff)
    for table, read in sorted(actual.rows.items()):
        most = expected.rows.get(table)
        if most is not None and read > most:
            reason = f"{read:,} rows of {table} are read, expected: at most {most:,}"
            yield place.difference("rows", reason, table, diff=diff)


def plan_diff(expected: tuple[str, ...], actual: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(difflib.unified_diff(expected, actual, "expected", "actual", lineterm="", n=4))


def kinds(steps: Iterable[str]) -> Counter[str]:
    """How many steps there are of each kind, those that read tables left out."""
    return Counter(step.strip() for step in steps if " on " not in step)


def listed(paths: tuple[str, ...]) -> str:
    return ", ".join(paths) or "nothing"


def waived(found: Iterable[Difference], waivers: Iterable[PlanWaiver]) -> tuple[list[Difference], set[str]]:
    """The differences of a query that none of its waivers speaks of, and the subjects of those that speak of some."""
    subjects = {waiver.subject for waiver in waivers}
    left, used = [], set()
    for difference in found:
        fitting = subjects & difference.subjects
        used |= fitting
        if not fitting:
            left.append(difference)
    return left, used
