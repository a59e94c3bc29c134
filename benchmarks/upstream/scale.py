"""Deciding few and many of something in turns, each in a scratch database of its own on the same server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sqlalchemy as sa

from benchmarks.base_reads import base_reads
from benchmarks.timing import timed
from benchmarks.upstream.results import Decided, Growth
from selectq.rows import RunKey
from selectq.scratch import scratch_database
from selectq.upstream import decide

Load = Callable[[sa.Engine], Sequence[RunKey]]

WARM_UP = 2


def growth(url: str, what: str, few: Load, many: Load, most: float, repetitions: int) -> Growth:
    """Measure both, ``repetitions`` times each."""
    with (
        scratch_database(url) as small,
        scratch_database(url) as large,
        small.connect() as of_few,
        large.connect() as of_many,
    ):
        sides = Side(of_few, few(small)), Side(of_many, many(large))
        for number in range(WARM_UP + repetitions):
            for side in sides:
                side.decide(counts=number >= WARM_UP)
        return Growth(what, sides[0].decided(), sides[1].decided(), most)


class Side:
    """Runs in a database, and what deciding them took."""

    def __init__(self, connection: sa.Connection, runs: Sequence[RunKey]) -> None:
        self.connection = connection
        self.runs = runs
        self.milliseconds: list[float] = []

    def decide(self, counts: bool) -> None:
        taken = timed(self.connection, self._decide)
        if counts:
            self.milliseconds.append(taken)

    def _decide(self) -> None:
        decide(self.connection, self.runs)

    def decided(self) -> Decided:
        connection = self.connection
        decisions = len(decide(connection, self.runs))
        instances = connection.execute(sa.text("SELECT COUNT(*) FROM task_instance")).scalar_one()
        rows_read = base_reads(connection, lambda: decide(connection, self.runs))
        return Decided(tuple(self.milliseconds), decisions, instances, rows_read)
