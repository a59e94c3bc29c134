"""The answer of one pass against what a scenario expects, as sentences about what differs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from selectq.rows import Key
from selectq.scenario.model import Expectation, Group

MOST_NAMED = 20
"""Rows named one by one per kind of difference; the others are counted."""

STOP = "max_tis"

Reasons = Mapping[Key, tuple[str, ...]]
"""Per scheduled row that was not selected: the limits that stop it."""


def compare(expect: Expectation, selected: Sequence[Key], blocked: Reasons) -> list[str]:
    """What differs, as sentences; empty if everything is as expected.

    Rows after the ``max_tis`` stop may have further reasons; all others must have exactly the expected one.
    """
    differences = []
    if expect.selected is not None:
        differences += compare_order(expect.selected, selected, blocked)
    if expect.selected_counts is not None:
        differences += compare_selected_counts(expect.selected_counts, selected)
    if expect.blocked is not None or expect.blocked_counts is not None:
        listed = expect.blocked or {}
        others = {key: by for key, by in blocked.items() if key not in listed}
        differences += compare_blocked(listed, blocked)
        differences += compare_blocked_counts(expect.blocked_counts or {}, others)
    return differences


def compare_order(expected: Sequence[Key], selected: Sequence[Key], blocked: Reasons) -> list[str]:
    missing = set(expected).difference(selected)
    extra = set(selected).difference(expected)
    differences = some(
        f"{show(key)} should have been selected, but {waits(key, blocked)}" for key in expected if key in missing
    )
    differences += some(f"{show(key)} was selected, but should not have been" for key in selected if key in extra)
    if not differences:
        differences = some(
            f"place {place} of the selection: expected {show(wanted)}, got {show(got)}"
            for place, (wanted, got) in enumerate(zip(expected, selected, strict=True), start=1)
            if wanted != got
        )
    return differences


def compare_selected_counts(expected: Mapping[Group, int], selected: Sequence[Key]) -> list[str]:
    differences = []
    for group, count in expected.items():
        found = sum(group.holds(key) for key in selected)
        if found != count:
            differences.append(f"selected of ({group}): expected {count}, got {found}")
    outside = (key for key in selected if not any(group.holds(key) for group in expected))
    return differences + some(f"{show(key)} was selected, but is in no group that should be" for key in outside)


def compare_blocked(expected: Mapping[Key, str], blocked: Reasons) -> list[str]:
    return some(
        f"{show(key)} should be blocked by {by}, but {waits(key, blocked)}"
        for key, by in expected.items()
        if not reason_fits(by, blocked.get(key, ()))
    )


def compare_blocked_counts(expected: Mapping[tuple[Group, str], int], others: Reasons) -> list[str]:
    """Counts against the blocked rows that are not listed singly; each group names all reasons of its rows."""
    counts_of: dict[Group, dict[str, int]] = defaultdict(dict)
    for (group, by), count in expected.items():
        counts_of[group][by] = count
    differences = some(
        f"{show(key)} is blocked by {' and '.join(by)}, but is not listed as blocked"
        for key, by in others.items()
        if not any(group.holds(key) for group in counts_of)
    )
    for group, counts in counts_of.items():
        differences += compare_group(group, counts, {key: by for key, by in others.items() if group.holds(key)})
    return differences


def compare_group(group: Group, counts: Mapping[str, int], rows: Reasons) -> list[str]:
    """All blocked rows of one group: each counts for one of the reasons that the group names."""
    differences = some(
        f"{show(key)} should be blocked by {' or '.join(counts)}, but {waits(key, rows)}"
        for key, reasons in rows.items()
        if not any(reason_fits(by, reasons) for by in counts)
    )
    for by, count in counts.items():
        able = [reasons for reasons in rows.values() if reason_fits(by, reasons)]
        # A row after the stop has several reasons: it may count for another one that the group names.
        bound = [reasons for reasons in able if not any(reason_fits(other, reasons) for other in counts if other != by)]
        if not len(bound) <= count <= len(able):
            differences.append(f"blocked of ({group}) by {by}: expected {count}, got {len(able)}")
    if not differences and sum(counts.values()) != len(rows):
        differences.append(f"blocked of ({group}): expected {sum(counts.values())} in all, got {len(rows)}")
    return differences


def reason_fits(by: str, reasons: tuple[str, ...]) -> bool:
    return by in reasons and (len(reasons) == 1 or STOP in reasons)


def show(key: Key) -> str:
    return f"({', '.join(str(part) for part in key)})"


def waits(key: Key, blocked: Reasons) -> str:
    return f"is blocked by {' and '.join(blocked[key])}" if key in blocked else "is not blocked"


def some(sentences: Iterable[str]) -> list[str]:
    """The first ``MOST_NAMED`` sentences, and how many more there are."""
    named: list[str] = []
    more = 0
    for sentence in sentences:
        if len(named) < MOST_NAMED:
            named.append(sentence)
        else:
            more += 1
    return [*named, f"... and {more} more like this"] if more else named
