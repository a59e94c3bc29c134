"""Passes of a peer and of selectq in turns, on the same rows on the same server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from benchmarks import check
from benchmarks.measure import same
from benchmarks.peers.outcome import outcome
from benchmarks.peers.process import Peer
from benchmarks.peers.results import Passes, Repeated, Side
from benchmarks.timing import timed
from selectq import selection
from selectq.demo.counting import Traffic, count_traffic
from selectq.rows import Key
from selectq.scheduler_pass import SchedulerPass

WARM_UP = 12
"""Passes of selectq before the first that counts: by then psycopg has prepared each statement, and PostgreSQL has
chosen its plan for good."""
WARM_UP_SECONDS = 20.0
PEER_WARM_UP = 2
"""Airflow has the dags' serialised form in memory by then."""
OURS_PER_TURN = 3
"""Passes of selectq for each of the peer's, the first of them with the caches as the peer has left them."""
LEAST_TURNS = 3
LEAST_PASSES = 20

QUEUED_BY = "bench"
FINISH = """
    UPDATE task_instance SET state = 'success', claim_token = NULL
    WHERE state = 'queued' AND queued_by = 'bench'
"""
PUT_BACK = """
    UPDATE task_instance SET state = 'scheduled', claim_token = NULL, queued_by = NULL, queued_dttm = NULL
    WHERE state = 'queued' AND queued_by = 'bench'
"""


@dataclass
class Budget:
    """Time for repetitions; the least number of them is made whatever they take."""

    seconds: float
    began: float = field(default_factory=time.perf_counter)

    @property
    def spent(self) -> bool:
        return time.perf_counter() - self.began > self.seconds


@dataclass(frozen=True)
class Answer:
    """A pass of a peer, as it tells."""

    ms: float
    keys: list[Key]
    statements: int
    rows: int | None = None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Answer:
        keys: list[Key] = [(dag_id, run_id, task_id, index) for dag_id, run_id, task_id, index in found["keys"]]
        return cls(found["ms"], keys, found["statements"], found.get("rows"))


def rolled_back(
    engine: sa.Engine, peer: Peer, max_tis: int, runs: int, seconds: float
) -> tuple[Side, Side, tuple[Key, ...]]:
    """Single passes of a peer that can take them back, and of selectq: each finds the backlog as it was loaded.

    Returns:
        The peer's side, selectq's, and what the peer's pass missed.

    Raises:
        WrongResultError: selectq's pass is not the exact one.
    """
    theirs: list[Answer] = []
    ours: list[float] = []
    with engine.connect() as connection:
        exact = check.expected(connection, max_tis)
        connection.rollback()

        def claim() -> None:
            same(exact, [row.key for row in selection.claim(connection, max_tis, queued_by=QUEUED_BY)], "claim")

        warm_up(lambda: timed(connection, claim))
        for _ in range(PEER_WARM_UP):
            peer.ask("pass", max_tis=max_tis, commit=False)
        budget = Budget(seconds)
        while len(theirs) < runs and not (budget.spent and len(theirs) >= LEAST_TURNS):
            theirs.append(Answer.of(peer.ask("pass", max_tis=max_tis, commit=False)))
            ours += turn_of_ours(lambda: timed(connection, claim), budget)
        traffic = Traffic()
        with count_traffic(engine, traffic):
            timed(connection, claim)
        return sides(connection, max_tis, theirs, exact, ours, traffic)


def committed(engine: sa.Engine, peer: Peer, max_tis: int, runs: int, seconds: float) -> tuple[Side, Side]:
    """Single claims that are committed on both sides, and put back before the next, outside of the time.

    Raises:
        WrongResultError: selectq's claim is not the exact one.
    """
    theirs: list[Answer] = []
    ours: list[float] = []
    with engine.connect() as connection, SchedulerPass(engine, max_tis, queued_by=QUEUED_BY) as scheduler_pass:
        exact = check.expected(connection, max_tis)
        connection.rollback()

        def claim() -> float:
            start = time.perf_counter()
            claimed = scheduler_pass.claim()
            taken = 1000 * (time.perf_counter() - start)
            same(exact, [row.key for row in claimed], "claim")
            change(engine, PUT_BACK)
            return taken

        warm_up(claim)
        budget = Budget(seconds)
        for turn in range(runs + 1):
            if budget.spent and turn > 1:
                break
            answer = Answer.of(peer.ask("claim", max_tis=max_tis, seconds=seconds / 2))
            peer.ask("reset")
            # The first warms up; one that takes all the time is enough.
            if turn or budget.spent:
                theirs.append(answer)
                ours += turn_of_ours(claim, budget)
        traffic = Traffic()
        with count_traffic(engine, traffic):
            scheduler_pass.claim()
        change(engine, PUT_BACK)
        return sides(connection, max_tis, theirs, exact, ours, traffic)[:2]


def warm_up(claim: Callable[[], float]) -> None:
    budget = Budget(WARM_UP_SECONDS)
    for _ in range(WARM_UP):
        claim()
        if budget.spent:
            break


def turn_of_ours(claim: Callable[[], float], budget: Budget) -> Iterator[float]:
    """Once at least, whatever time is left."""
    for _ in range(OURS_PER_TURN):
        yield claim()
        if budget.spent:
            break


def sides(
    connection: sa.Connection,
    max_tis: int,
    theirs: Sequence[Answer],
    exact: list[Key],
    ours: Sequence[float],
    traffic: Traffic,
) -> tuple[Side, Side, tuple[Key, ...]]:
    """The peer's side, selectq's, whose passes were all the exact one, and what the peer missed."""
    worth = outcome(connection, theirs[0].keys, max_tis)
    own = outcome(connection, exact, max_tis)
    times = tuple(answer.ms for answer in theirs)
    last = theirs[-1]
    right = len({*exact} & {*theirs[0].keys})
    return (
        Side(times, worth.started, right, len(worth.missed), len(worth.over), last.statements, last.rows),
        Side(tuple(ours), own.started, len(exact), len(own.missed), len(own.over), traffic.statements, traffic.rows),
        worth.missed,
    )


def repeated(
    engine: sa.Engine, peer: Peer, max_tis: int, passes: int, seconds: float, missed: Iterable[Key]
) -> Repeated:
    """Committed passes of both in turns; what one has started is done before the next.

    They end after ``passes``, or ``seconds``, or when all that the peer's first pass missed has started on both sides.
    """
    wanted = set(missed)
    theirs, ours = Running(wanted), Running(wanted)
    budget = Budget(seconds)
    with SchedulerPass(engine, max_tis, queued_by=QUEUED_BY) as scheduler_pass:
        while theirs.passes < passes and not budget.spent:
            answer = Answer.of(peer.ask("pass", max_tis=max_tis, commit=True))
            peer.ask("finish")
            theirs.add(answer.ms, answer.keys)
            start = time.perf_counter()
            claimed = scheduler_pass.claim()
            ours.add(1000 * (time.perf_counter() - start), [row.key for row in claimed])
            change(engine, FINISH)
            nothing_left = not answer.keys and not claimed
            if nothing_left or (theirs.passes >= LEAST_PASSES and theirs.all and ours.all):
                break
    return Repeated(len(wanted), theirs.as_passes(), ours.as_passes())


@dataclass
class Running:
    """Passes so far, and how many of ``wanted`` are still to start."""

    wanted: set[Key]
    milliseconds: list[float] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    first: int | None = None
    all: int | None = None

    def __post_init__(self) -> None:
        self.left = set(self.wanted)

    @property
    def passes(self) -> int:
        return len(self.started)

    def add(self, milliseconds: float, keys: Sequence[Key]) -> None:
        self.milliseconds.append(milliseconds)
        self.started.append(len(keys))
        self.left -= set(keys)
        if self.first is None and len(self.left) < len(self.wanted):
            self.first = self.passes
        if self.all is None and not self.left:
            self.all = self.passes

    def as_passes(self) -> Passes:
        return Passes(tuple(self.milliseconds), tuple(self.started), self.first, self.all)


def change(engine: sa.Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
