"""One engine's figures: a pass, the bare UPDATE, a selection and explanations; nothing is changed for good."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from benchmarks import check, floor, reads
from benchmarks.timing import Times, roll_back, take_turns
from selectq import selection
from selectq.demo.counting import Traffic, count_traffic
from selectq.errors import SelectqError
from selectq.rows import Key
from selectq.why import why


@dataclass(frozen=True)
class Measured:
    """``whole``: select + claim; ``update``: the bare UPDATE of the same rows; ``select``: the selection alone."""

    claimed: int
    holders: int
    """Touched by the pass: see ``benchmarks.check.Walk``."""
    whole: Times
    update: Times
    select: Times
    statements: int
    rows_fetched: int
    reads: tuple[reads.Reads, ...]
    """Of each statement of a pass, in order."""

    @property
    def ratio(self) -> float:
        """How many bare UPDATEs a pass costs: medians."""
        return self.whole.median / self.update.median

    @property
    def reads_of_select(self) -> int:
        return sum(each.rows for each in self.reads if each.query not in CLAIMING)

    @property
    def reads_of_pass(self) -> int:
        return sum(each.rows for each in self.reads)

    @property
    def pages_of_pass(self) -> int | None:
        pages = [each.pages for each in self.reads if each.pages is not None]
        return sum(pages) if pages else None


@dataclass(frozen=True)
class Explained:
    """Explanations of one task instance each, in turns with selections.

    ``blocked``: of the first in line that is passed over, None if a pass is full before it meets one; ``deep``: of one
    near the end of the line.
    """

    select: Times
    blocked: Times | None
    deep: Times

    @property
    def ratio(self) -> float:
        """How many selections the dearer one costs: medians."""
        return max(times.median for times in (self.blocked, self.deep) if times) / self.select.median


CLAIMING = ("selection/lock_holders.v1", "selection/claim.v1", "selection/mark_queued.v1")
"""Queries of a pass that are no part of the selection."""

DEEP = """
    SELECT ti.dag_id, ti.run_id, ti.task_id, ti.map_index
    FROM task_instance AS ti
    JOIN dag_run AS r ON r.dag_id = ti.dag_id AND r.run_id = ti.run_id
    WHERE ti.state = 'scheduled' AND r.state = 'running'
    ORDER BY
        ti.priority_weight, r.logical_date IS NOT NULL, r.logical_date DESC,
        ti.dag_id DESC, ti.run_id DESC, ti.task_id DESC, ti.map_index DESC
    LIMIT 1
"""


class WrongResultError(SelectqError):
    """What was measured is not what the walk over all rows gives."""


def measure(
    engine: sa.Engine,
    max_tis: int = 512,
    runs: int = 9,
    warm_up: int | None = None,
    walk: check.Walk | None = None,
) -> Measured:
    """Measure passes of ``max_tis`` on the loaded tables, which stay as they are.

    Args:
        walk: what ``benchmarks.check`` found for ``max_tis``; None = walk now.

    Raises:
        WrongResultError: a pass or a selection returned other rows than ``benchmarks.check``, or in another order.
    """
    with engine.connect() as connection:
        must = walk or check.walk(connection, max_tis)
        connection.rollback()
        keys, parameter = must.started, floor.as_parameter(must.started)

        def whole() -> None:
            same(keys, [row.key for row in selection.claim(connection, max_tis, queued_by="bench")], "claim")

        def select() -> None:
            same(keys, [row.key for row in selection.select(connection, max_tis)], "select")

        def update() -> None:
            if (changed := floor.update(connection, parameter)) != len(keys):
                raise WrongResultError(f"the bare UPDATE changed {changed} rows instead of {len(keys)}")

        times = take_turns(connection, {"whole": whole, "update": update, "select": select}, runs, warm_up)

        traffic = Traffic()
        with count_traffic(engine, traffic), reads.recorded(engine) as statements:
            whole()
        roll_back(connection)
        read = reads.replay(connection, statements)
        roll_back(connection)
    return Measured(
        claimed=len(keys),
        holders=must.holders,
        whole=times["whole"],
        update=times["update"],
        select=times["select"],
        statements=traffic.statements,
        rows_fetched=traffic.rows,
        reads=tuple(read),
    )


def explain(
    engine: sa.Engine, walk: check.Walk, max_tis: int = 512, runs: int = 9, warm_up: int | None = None
) -> Explained:
    """Measure ``why`` of one task instance at the front of the line, and of one at its end.

    Raises:
        WrongResultError: an explanation differs from what ``benchmarks.check`` found.
    """
    with engine.connect() as connection:
        dag_id, run_id, task_id, map_index = connection.execute(sa.text(DEEP)).one()
        last: Key = (dag_id, run_id, task_id, map_index)
        connection.rollback()

        def select() -> None:
            same(walk.started, [row.key for row in selection.select(connection, max_tis)], "select")

        def blocked() -> None:
            if (found := stops(connection, walk.blocked, max_tis)) != walk.blocked_by:
                raise WrongResultError(f"why {walk.blocked}: {set(found)} instead of {set(walk.blocked_by)}")

        def deep() -> None:
            found, waits = stops(connection, last, max_tis), last not in walk.started
            if bool(found) != waits or ("max_tis" in found) != (waits and len(walk.started) == max_tis):
                raise WrongResultError(f"why {last}: {set(found)}, and a pass starts {len(walk.started)}")

        works = {"select": select, "deep": deep} | ({"blocked": blocked} if walk.blocked else {})
        times = take_turns(connection, works, runs, warm_up)
    return Explained(times["select"], times.get("blocked"), times["deep"])


def stops(connection: sa.Connection, key: Key | None, max_tis: int) -> frozenset[str]:
    """The limits that ``why`` gives for one task instance."""
    if key is None:
        return frozenset()
    [found] = why(connection, *key, max_tis=max_tis)
    return frozenset(reason.limit for reason in found.reasons)


def same(wanted: list[Key], found: list[Key], what: str) -> None:
    if wanted == found:
        return
    at = next((place for place, pair in enumerate(zip(wanted, found, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        raise WrongResultError(f"{what}: {len(found)} rows instead of {len(wanted)}")
    raise WrongResultError(f"{what}: row {at} is {found[at]} instead of {wanted[at]}")
