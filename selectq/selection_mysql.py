"""What is MySQL's own way: a selection is repeated until the batch is complete, and a claim is written apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from selectq.claims import claimed_of
from selectq.defaults import DEFAULTS
from selectq.executor import query_for, run, run_count
from selectq.rows import Claimed, Selected, selected_of

MARGIN = 128
"""How many more rows than the pass can take are decided in a call: so many may be rejected at no cost."""
SHORTEST_PAGE = 6
DEPTH = 8
PER_SLOT = 2
FEW_LINES = 100
"""So many are hopped in at once when one ends in something full; of more, that one first."""
HOPS = 250
"""Groups of blocked task instances that are passed over in one call, in each line."""
LEAST_GROWTH, MOST_GROWTH = 4, 16
"""How many times as much a further call may read, and how many times as much after one that found nothing."""
BEFORE_ALL = {name: value for name, value in DEFAULTS.items() if name.startswith("after_")}
"""The place before all others, in the order of a walk."""


@dataclass(frozen=True)
class Sizes:
    """How much a call reads: see the parameters of ``selection/select_executable``."""

    page: int
    reach: int
    room: int
    depth: int
    per_slot: int

    def times(self, factor: float) -> Sizes:
        """So many times as much."""
        return replace(
            self,
            page=math.ceil(factor * self.page),
            reach=math.ceil(factor * self.reach),
            room=math.ceil(factor * self.room),
            depth=math.ceil(factor * self.depth),
        )


def select(connection: sa.Connection, max_tis: int, executor_slots: Mapping[str, int]) -> list[Selected]:
    """As ``selectq.selection.select``; the parameters are checked already."""
    lines = [[row["pool"], row["pool_free"]] for row in run(connection, query_for(connection, "selection/lines"))]
    query = query_for(connection, "selection/select_executable")
    page = first_page([max_tis if free is None else free for _, free in lines], max_tis)
    sizes = Sizes(page, reach=max_tis + MARGIN, room=PER_SLOT, depth=DEPTH, per_slot=PER_SLOT)
    groups: list[list[Any]] = []
    slots = dict(executor_slots)
    admitted: list[Selected] = []
    hopped = False
    keys: list[tuple[str, str, str]] = []
    while True:
        rows = run(
            connection,
            query,
            max_tis=max_tis - len(admitted),
            executor_slots=slots,
            lines=lines,
            groups=groups,
            admitted=keys,
            **asdict(sizes),
            **behind(admitted),
        )
        end = next((row for row in rows if row["more"]), None)
        found = [selected_of(row) for row in rows if row["dag_id"] is not None]
        admitted += found
        keys += [row.key[:3] for row in found]
        if end is None:
            return admitted
        lines, groups, slots = without(lines, found), without(groups, found), slots_without(slots, found)
        # Where a line ends in what is full by now, more of it may follow: it is passed over in hops. What a run has is
        # seldom much, and of many lines few are: there one reads on, unless nothing was found.
        is_flooded = is_full(end, "task_free", "task_in_run_free") and not hopped and len(lines) <= FEW_LINES
        is_stuck = is_full(end, "run_free", "task_free", "task_in_run_free") and not found
        if end["run_id"] is None and (is_flooded or is_stuck):
            hop_all = hopped or len(lines) <= FEW_LINES
            parted = [line for line in lines if hop_all or line[0] == end["pool"]]
            last, found_open = behind_blocked(connection, parted, keys)
            lines = [last.get(line[0], line) for line in lines]
            groups += found_open
            if not hopped:
                hopped = True
                continue
        if not found:
            factor = LEAST_GROWTH if admitted else MOST_GROWTH
            sizes = replace(sizes.times(factor), per_slot=2 * sizes.per_slot)
        elif end["run_id"] is None:
            sizes = sizes.times(growth(len(found), max_tis - len(admitted)))


def is_full(end: Mapping[str, Any], *holders: str) -> bool:
    """Whether one of these has nothing free at the end of what is known."""
    return any(end[free] is not None and end[free] <= 0 for free in holders)


def growth(found: int, wanted: int) -> float:
    """How many times as much a call has to read to find what is still wanted, by what the last one found."""
    return max(1.0, min(MOST_GROWTH, 1.25 * wanted / found))


def behind(admitted: Sequence[Selected]) -> dict[str, Any]:
    """Where to go on."""
    if not admitted:
        return BEFORE_ALL
    last = admitted[-1]
    place = (last.priority_weight, last.logical_date is None, without_zone(last.logical_date), *last.key)
    return dict(zip(BEFORE_ALL, place, strict=True))


def without_zone(moment: datetime | None) -> datetime | None:
    """As the tables have it: in UTC, and MySQL would convert a time that is sent with its zone."""
    return moment and moment.replace(tzinfo=None)


def without(lines: Sequence[list[Any]], found: Sequence[Selected]) -> list[list[Any]]:
    """The lines, or groups, of pools that have room beside what was found."""
    taken: Counter[str] = Counter()
    for row in found:
        taken[row.pool] += row.pool_slots
    left = [[pool, free if free is None else free - taken[pool], *place] for pool, free, *place in lines]
    return [line for line in left if line[1] is None or line[1] > 0]


def slots_without(slots: Mapping[str, int], found: Sequence[Selected]) -> dict[str, int]:
    """Free slots of each executor beside what was found."""
    taken = Counter(row.executor or "" for row in found)
    return {name: free - taken[name] for name, free in slots.items()}


def first_page(free: Sequence[int], max_tis: int) -> int:
    """Rows to read of each line: about twice what the pass can take, as far as the lines have room for so many."""
    page = SHORTEST_PAGE
    longest = min(2 * max_tis, PER_SLOT * max(free, default=0))
    while page < longest and sum(min(page, PER_SLOT * slots) for slots in free) < 2 * max_tis:
        page += 1 + page // 8
    return page


def behind_blocked(
    connection: sa.Connection, lines: Sequence[list[Any]], admitted: Sequence[tuple[str, str, str]]
) -> tuple[dict[str, list[Any]], list[list[Any]]]:
    """Where lines go on, by pool, behind groups of task instances that can't start; and groups in between that can."""
    parts = run(connection, query_for(connection, "selection/line_parts"), lines=lines, admitted=admitted, hops=HOPS)
    last = {part["part"][0]: part["part"] for part in parts if part["is_last"]}
    return last, [part["part"] for part in parts if part["is_open"]]


def mark_queued(connection: sa.Connection, claimed: Sequence[Claimed]) -> None:
    """The writing half of a claim: UPDATE returns no rows here."""
    run_count(
        connection,
        query_for(connection, "selection/mark_queued"),
        claimed=claimed_of(claimed),
        queued_dttm=claimed[0].queued_dttm.replace(tzinfo=None),
        queued_by=claimed[0].queued_by,
    )
