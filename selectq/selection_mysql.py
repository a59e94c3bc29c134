"""Selection and claim on MySQL: a selection is repeated until the batch is complete, a claim takes three statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from selectq.executor import query_for, run, run_count
from selectq.rows import Claimed, Key, Selected

MARGIN = 128
"""How many more rows than the pass can take are decided in a first call: so many may be rejected at no cost."""
SHORTEST_PAGE = 6
DEPTH = 8
PER_SLOT = 2
HOPS = 250
"""Groups of blocked task instances that are passed over in one call, in each line."""
LEAST_GROWTH, MOST_GROWTH = 2, 16
"""How many times as much a further call reads."""


def select(connection: sa.Connection, max_tis: int, executor_slots: Mapping[str, int]) -> list[Selected]:
    """As ``selectq.selection.select``; the parameters are checked already."""
    lines = [[row["pool"], row["pool_free"]] for row in run(connection, query_for(connection, "selection/lines"))]
    query = query_for(connection, "selection/select_executable")
    page = first_page([max_tis if free is None else free for _, free in lines], max_tis)
    room, depth, per_slot = PER_SLOT, DEPTH, PER_SLOT
    reach = max_tis + MARGIN
    groups: list[list[Any]] = []
    admitted: list[Key] = []
    while True:
        rows = run(
            connection,
            query,
            max_tis=max_tis,
            executor_slots=executor_slots,
            lines=lines,
            groups=groups,
            page=page,
            room=room,
            depth=depth,
            per_slot=per_slot,
            reach=reach,
            admitted=admitted,
        )
        found = [as_selected(row) for row in rows if row["dag_id"] is not None]
        end = next((row for row in rows if row["more"]), None)
        if end is None:
            return found
        if end["pool"] is None:
            admitted = [row.key for row in found]
        elif end["run_id"] is not None:
            per_slot, admitted = LEAST_GROWTH * per_slot, []
        else:
            hopped = bool(groups)
            if end["map_index"] >= 0:
                lines, found_open = behind_blocked(connection, lines)
                groups += found_open
            # The fewer were found, the more is read: a call more costs as much again as the reading.
            growth = max(LEAST_GROWTH, min(MOST_GROWTH, -(-max_tis // max(1, len(found)))))
            reach, admitted = growth * reach, []
            if hopped or not groups:
                page, room, depth = growth * page, growth * room, growth * depth


def first_page(free: Sequence[int], max_tis: int) -> int:
    """Rows to read of each line: about twice what the pass can take, as far as the lines have room for so many."""
    page = SHORTEST_PAGE
    longest = min(2 * max_tis, PER_SLOT * max(free, default=0))
    while page < longest and sum(min(page, PER_SLOT * slots) for slots in free) < 2 * max_tis:
        page += 1 + page // 8
    return page


def behind_blocked(
    connection: sa.Connection, lines: Sequence[list[Any]]
) -> tuple[list[list[Any]], list[list[Any]]]:
    """Where the lines go on behind groups of mapped task instances that can't start, and groups in between that can."""
    parts = run(connection, query_for(connection, "selection/line_parts"), lines=lines, hops=HOPS)
    last = {part["part"][0]: part["part"] for part in parts if part["is_last"]}
    return [last.get(line[0], line) for line in lines], [part["part"] for part in parts if part["is_open"]]


def as_selected(row: Mapping[str, Any]) -> Selected:
    return Selected(**{name: value for name, value in row.items() if name != "more"})


def claim_locked(
    connection: sa.Connection, claims: Sequence[Sequence[str | int]], queued_by: str | None
) -> list[Claimed]:
    """The rest of ``selectq.selection.claim_selected``, once the holders are locked."""
    rows = run(connection, query_for(connection, "selection/claim"), claims=claims, queued_by=queued_by)
    claimed = [Claimed(**row) for row in rows]
    if claimed:
        mark_queued(connection, claimed)
    return claimed


def mark_queued(connection: sa.Connection, claimed: Sequence[Claimed]) -> None:
    run_count(
        connection,
        query_for(connection, "selection/mark_queued"),
        claimed=claimed_of(claimed),
        queued_dttm=claimed[0].queued_dttm.replace(tzinfo=None),
        queued_by=claimed[0].queued_by,
    )


def claimed_of(claimed: Sequence[Claimed]) -> list[tuple[str | int, ...]]:
    """The parameter ``claimed`` of ``selection/mark_queued``."""
    return [(*row.key, row.claim_token.hex) for row in claimed]
