"""Every file on disk is parsed within a bound, whatever callbacks arrive: the promise of docs/parsing.md.

Whether a file is due, and how long it has been, is worked out here in plain Python; from the queue comes only what it
hands out. With ``SELECTQ_TEST_EXAMPLES=200`` in the environment the search is longer, and new each time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from selectq.parsing import Arrival, ClaimedFile, FoundFile, Settings, statements
from selectq.parsing.scan import parts, scan_part

EXAMPLES = os.environ.get("SELECTQ_TEST_EXAMPLES")
START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
PATHS = ["a.py", "b.py", "c.py", "d.py"]
STORMY = 2
"""The first so many have callbacks in every turn."""
MIN_INTERVAL = 5
TIMEOUT = 40
GAP = 5
"""Seconds between turns, at most."""

HELD = sa.text("SELECT path FROM dag_file WHERE claimed_at IS NOT NULL")

some_histories = settings(
    max_examples=int(EXAMPLES or 8),
    derandomize="CI" in os.environ and EXAMPLES is None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

events = st.one_of(
    st.tuples(st.just("edit"), st.sampled_from(PATHS)),
    st.tuples(st.just("delete"), st.sampled_from(PATHS)),
    st.tuples(st.just("callback"), st.sampled_from([*PATHS[STORMY:], PATHS[0]])),
    st.tuples(st.just("sla"), st.sampled_from(PATHS)),
    st.tuples(st.just("die"), st.none()),
    st.tuples(st.just("step"), st.sampled_from([-500, -8, 300])),
)
# Turns of a storm: most of them see nothing else, and every so often it is long enough for any bound.
quiet = st.integers(0, 30)
histories = st.lists(st.tuples(quiet, events), max_size=4)


@dataclass
class Disk:
    """What is known of a file on disk; its versions are numbers.

    ``slots``, ``seconds``, ``news``, ``deaths``, ``steps``: since it is due and nobody reads it, the slots that were to
    be had, the time that passed, the files that came in new, the processors that died and the steps of the clock. Not
    counted: slots and time while a file is held by a processor that died, since a refill may wait for that file.
    """

    version: int
    parsed: int | None = None
    read_at: float | None = None
    claimed: bool = False
    slots: int = 0
    seconds: float = 0
    news: int = 0
    deaths: int = 0
    steps: int = 0

    def is_due(self, now: float) -> bool:
        if self.parsed != self.version or self.read_at is None:
            return True
        return self.read_at <= now - MIN_INTERVAL or self.read_at > now

    def start_again(self) -> None:
        self.slots, self.seconds, self.news, self.deaths, self.steps = 0, 0, 0, 0, 0


class Loop:
    """The loop of a scheduler and its processors, in a storm of callbacks."""

    def __init__(self, connection: sa.Connection, share: float, longest: int, slots: int) -> None:
        self.connection = connection
        self.settings = Settings(MIN_INTERVAL, longest, share, TIMEOUT)
        self.slots = slots
        self.clock = 0.0
        self.versions = 0
        self.disk: dict[str, Disk] = {}
        self.waits_for_dead = False
        self.die_next = False
        for path in PATHS:
            self.edit(path)

    @property
    def now(self) -> datetime:
        return START + timedelta(seconds=self.clock)

    def held(self) -> set[str]:
        """Files whose claims are open between two turns: their processors died."""
        return set(self.connection.execute(HELD).scalars())

    def event(self, name: str, value: Any) -> None:
        getattr(self, name)(value)

    def edit(self, path: str) -> None:
        self.versions += 1
        if path in self.disk:
            self.disk[path].version = self.versions
        else:
            self.disk[path] = Disk(self.versions)
            for file in self.disk.values():
                file.news += 1
        self.scan()

    def delete(self, path: str) -> None:
        self.disk.pop(path, None)
        self.scan()

    def scan(self) -> None:
        found = [FoundFile(path, START + timedelta(microseconds=file.version)) for path, file in self.disk.items()]
        for part in parts(found):
            scan_part(self.connection, "b", part, self.now + timedelta(days=9), self.now)

    def callback(self, path: str) -> None:
        self.arrive([path], "dag_callback")

    def sla(self, path: str) -> None:
        self.arrive([path], "sla_callback")

    def arrive(self, paths: list[str], kind: str) -> None:
        there = [path for path in paths if path in self.disk]
        statements.enqueue(self.connection, [Arrival("b", path, kind, 1) for path in there], self.now)

    def die(self, nothing: None) -> None:
        """Who claims next is not heard of again."""
        self.die_next = True

    def step(self, seconds: int) -> None:
        """The clock is set."""
        self.clock += seconds
        for file in self.disk.values():
            file.steps += 1

    def turn(self) -> None:
        self.arrive(PATHS[:STORMY], "dag_callback")
        if statements.give_back(self.connection, self.settings, self.now):
            self.free_the_dead()
        self.waits_for_dead = bool(self.held())
        statements.refill(self.connection, self.settings, self.now)
        due = {path for path, file in self.disk.items() if not file.claimed and file.is_due(self.clock)}
        for path, file in self.disk.items():
            if path not in due:
                file.start_again()
            file.slots += 0 if self.waits_for_dead else self.slots
        claimed = statements.claim(self.connection, self.slots, self.settings, now=self.now)
        for file in claimed:
            assert file.parse or file.path not in due, f"{file.path} is due and is not parsed"
            self.disk[file.path].start_again()
            self.disk[file.path].claimed = True
        for path in due - {file.path for file in claimed}:
            self.check(path, self.disk[path])
        self.work(claimed)

    def work(self, claimed: list[ClaimedFile]) -> None:
        """What was claimed is read, for a second less than a turn, if nobody dies over it."""
        read = {file.path: self.disk[file.path].version for file in claimed}
        self.clock += GAP
        for file in self.disk.values():
            file.seconds += 0 if self.waits_for_dead else GAP
        for file in claimed:
            disk = self.disk[file.path]
            if self.die_next:
                self.die_next = False
                for other in self.disk.values():
                    other.deaths += 1
                continue
            assert statements.finish(self.connection, file, now=self.now)
            disk.claimed = False
            if file.parse:
                disk.parsed = read[file.path]
            disk.read_at = self.clock if file.parse or file.callbacks else disk.read_at

    def free_the_dead(self) -> None:
        """Those whose claims are gone: the queue can't be asked about one file, so look at all that it reads now."""
        reading = self.held()
        for path, file in self.disk.items():
            file.claimed = path in reading

    def check(self, path: str, file: Disk) -> None:
        """Two rounds at most: what the last refill has queued goes first, and what a dead processor had goes again."""
        rounds = 2 + file.deaths
        ahead = len(PATHS) + file.news + file.deaths
        share, longest = self.settings.callback_share, self.settings.max_file_process_interval
        if share < 1:
            most = rounds * (ahead / (1 - share) + self.slots)
            assert file.slots <= most, f"{path} is due and was passed over for {file.slots} slots, at most {most}"
        if longest:
            most = rounds * (longest + GAP) * (ahead + file.steps)
            assert file.seconds <= most, f"{path} is due for {file.seconds} seconds, at most {most}"


@some_histories
@given(
    history=histories,
    setting=st.sampled_from([(0, 0), (0.3, 0), (0.5, 0), (0.5, 10), (0.7, 0), (1, 5), (1, 10)]),
    slots=st.integers(1, 2),
)
def test_each_file_is_parsed_within_its_bound(
    engine: sa.Engine, history: list[tuple[int, tuple[str, Any]]], setting: tuple[float, int], slots: int
) -> None:
    with engine.connect() as connection:
        loop = Loop(connection, *setting, slots)
        for turns, (name, value) in history:
            for _ in range(turns):
                loop.turn()
            loop.event(name, value)
        for _ in range(40):
            loop.turn()
        connection.rollback()
