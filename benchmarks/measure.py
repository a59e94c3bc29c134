"""One engine's figures: a pass, the bare UPDATE and a selection in turns, each in a transaction that is rolled back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import sqlalchemy as sa

from benchmarks import check, floor, reads
from selectq import selection
from selectq.demo.counting import Traffic, count_traffic
from selectq.errors import SelectqError
from selectq.rows import Key

WARM_UP = 3
"""Rounds before the first that counts: caches fill, and each kind of work has gone first once."""


@dataclass(frozen=True)
class Times:
    """Milliseconds of each repetition."""

    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.runs)


@dataclass(frozen=True)
class Measured:
    """``whole``: select + claim; ``update``: the bare UPDATE of the same rows; ``select``: the selection alone."""

    claimed: int
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
        return sum(each.rows for each in self.reads if each.query in SELECTING)

    @property
    def reads_of_pass(self) -> int:
        return sum(each.rows for each in self.reads)

    @property
    def pages_of_pass(self) -> int | None:
        pages = [each.pages for each in self.reads if each.pages is not None]
        return sum(pages) if pages else None


SELECTING = ("selection/open_pools.v1", "selection/select_executable.v1")


class WrongResultError(SelectqError):
    """What was measured is not what the walk over all rows gives."""


def measure(engine: sa.Engine, max_tis: int = 512, runs: int = 9, warm_up: int = WARM_UP) -> Measured:
    """Measure passes of ``max_tis`` on the loaded tables, which stay as they are.

    Raises:
        WrongResultError: a pass or a selection returned other rows than ``benchmarks.check``, or in another order.
    """
    with engine.connect() as connection:
        keys = check.expected(connection, max_tis)
        connection.rollback()
        parameter = floor.as_parameter(keys)

        def whole() -> None:
            same(keys, [row.key for row in selection.claim(connection, max_tis, queued_by="bench")], "claim")

        def select() -> None:
            same(keys, [row.key for row in selection.select(connection, max_tis)], "select")

        def update() -> None:
            if (changed := floor.update(connection, parameter)) != len(keys):
                raise WrongResultError(f"the bare UPDATE changed {changed} rows instead of {len(keys)}")

        works = [whole, update, select]
        times: dict[Callable[[], None], list[float]] = {work: [] for work in works}
        for turn in range(warm_up + runs):
            # Each goes first in its turn, so that none always finds what another has left in the caches.
            for work in works[turn % 3 :] + works[: turn % 3]:
                taken = timed(connection, work)
                if turn >= warm_up:
                    times[work].append(taken)

        traffic = Traffic()
        with count_traffic(engine, traffic), reads.recorded(engine) as statements:
            whole()
        connection.rollback()
        read = reads.replay(connection, statements)
        connection.rollback()
    return Measured(
        claimed=len(keys),
        whole=Times(tuple(times[whole])),
        update=Times(tuple(times[update])),
        select=Times(tuple(times[select])),
        statements=traffic.statements,
        rows_fetched=traffic.rows,
        reads=tuple(read),
    )


def timed(connection: sa.Connection, work: Callable[[], None]) -> float:
    """Milliseconds that the work takes, without the rollback."""
    start = time.perf_counter()
    work()
    taken = time.perf_counter() - start
    connection.rollback()
    return 1000 * taken


def same(wanted: list[Key], found: list[Key], what: str) -> None:
    if wanted == found:
        return
    at = next((place for place, pair in enumerate(zip(wanted, found, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        raise WrongResultError(f"{what}: {len(found)} rows instead of {len(wanted)}")
    raise WrongResultError(f"{what}: row {at} is {found[at]} instead of {wanted[at]}")
