"""Run a scenario of kind ``filequeue`` on the real queue, tick by tick, and compare with what it expects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from selectq.parsing import Arrival, ClaimedFile, FoundFile, Settings, statements
from selectq.parsing.scan import parts, path_hash, scan_part
from selectq.scenario.compare import some
from selectq.scenario.filequeue_model import QueueFile, QueueScenario, Window
from selectq.schema import metadata

START = datetime(2026, 1, 1, tzinfo=UTC)
BUNDLE = "case"
NOT_QUEUED = "should be queued after the first scan, but is not"


@dataclass(frozen=True, slots=True)
class Read:
    """A file that a slot has read: by whose turn, whether it was parsed, how many callbacks ran."""

    path: str
    lane: str
    parse: bool
    callbacks: int


@dataclass(frozen=True, slots=True)
class QueueStep:
    """A tick, or the scan of a case without ticks (tick 0): what was due, what waited after the scan, what was read."""

    tick: int
    due: tuple[str, ...]
    queued: tuple[str, ...] = ()
    read: tuple[Read, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Its part of what ``selectq replay --json`` prints."""
        read = [
            {"path": each.path, "lane": each.lane, "parse": each.parse, "callbacks": each.callbacks}
            for each in self.read
        ]
        return {"tick": self.tick, "due": list(self.due), "queued": list(self.queued), "read": read}


def run_queue(connection: sa.Connection, scenario: QueueScenario) -> tuple[list[QueueStep], list[str]]:
    """Load, run all ticks, compare; in the caller's transaction, on empty tables."""
    run = QueueRun(connection, scenario)
    run.load()
    differences = list(compare_due(scenario, run.due()))
    if scenario.config.ticks is None:
        steps = [run.scan(0)]
        differences += compare_queued(scenario, steps[0])
    else:
        steps = [run.tick(number) for number in range(1, scenario.config.ticks + 1)]
        differences += compare_ticks(scenario, steps)
        differences += some(run.disorder)
    return steps, differences


@dataclass
class QueueRun:
    """The queue of a scenario on its way through the ticks."""

    connection: sa.Connection
    scenario: QueueScenario
    now: datetime = START
    mtimes: dict[str, datetime] = field(default_factory=dict)
    arrived: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    run_so_far: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    disorder: list[str] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        config = self.scenario.config
        return Settings(config.min_interval, config.max_interval, config.callback_share)

    def load(self) -> None:
        """Put the files where earlier scans and parses would have left them."""
        for file in self.scenario.files:
            row = file_row(file)
            self.mtimes[file.path] = row["mtime"]
            file_id = self.insert("dag_file", row)
            if file.queued:
                self.insert("parse_request", request_row(file_id, file))

    def insert(self, table: str, row: dict[str, Any]) -> int:
        """Add a row, and return the id that the database gave it."""
        values = {name: database_value(self.connection, value) for name, value in row.items()}
        inserted = self.connection.execute(sa.insert(metadata.tables[table]).values(**values))
        return int((inserted.inserted_primary_key or (0,))[0])

    def due(self) -> tuple[str, ...]:
        return tuple(path for _, path in statements.due(self.connection, self.settings, self.now))

    def queued(self) -> tuple[str, ...]:
        """Paths that wait, in the order of the lanes."""
        found = statements.waiting(self.connection, page_size=1_000_000, now=self.now)
        return tuple(dict.fromkeys(row.path for row in found))

    def tick(self, number: int) -> QueueStep:
        self.now = START + (number - 1) * timedelta(seconds=self.scenario.config.tick_seconds)
        for edit in self.scenario.edits:
            if edit.happens(number):
                # Later than anything that was parsed before the tick.
                self.mtimes[edit.path] = self.now + timedelta(microseconds=1)
        self.arrive(number)
        step = self.scan(number)
        claimed = statements.claim(self.connection, self.scenario.config.slots, self.settings, "replay", self.now)
        for file in claimed:
            self.check_callbacks(number, file)
            statements.finish(self.connection, file, now=self.now)
        read = tuple(Read(file.path, file.lane, file.parse, len(file.callbacks)) for file in claimed)
        return replace(step, read=read)

    def scan(self, number: int) -> QueueStep:
        """Compare the folder with what is known, and queue what is due."""
        listed = [FoundFile(path, mtime) for path, mtime in self.mtimes.items()]
        for part in parts(listed):
            scan_part(self.connection, BUNDLE, part, self.now, self.now)
        due = self.due()
        statements.refill(self.connection, self.settings, self.now)
        return QueueStep(number, due, self.queued())

    def arrive(self, number: int) -> None:
        arrivals = []
        for event in self.scenario.callbacks:
            for _ in range(event.times if event.happens(number) else 0):
                arrivals.append(Arrival(BUNDLE, event.path, "dag_callback", self.arrived[event.path]))
                self.arrived[event.path] += 1
        statements.enqueue(self.connection, arrivals, self.now)

    def check_callbacks(self, number: int, file: ClaimedFile) -> None:
        """Every callback runs once, in the order in which they arrived."""
        ran = self.run_so_far[file.path]
        wanted = list(range(ran, self.arrived[file.path]))
        got = [callback.payload for callback in file.callbacks]
        if got != wanted:
            self.disorder.append(f"tick {number}: callbacks {got} of {file.path} ran, expected {wanted}")
        self.run_so_far[file.path] = self.arrived[file.path]


def compare_due(scenario: QueueScenario, due: tuple[str, ...]) -> Iterator[str]:
    not_due = {file.path for file in scenario.files}.difference(due)
    expect = scenario.expect
    for expected, found, words in ((expect.due, set(due), "due"), (expect.not_due, not_due, "not due")):
        if expected is not None:
            yield from some(f"{path} should be {words}, but is not" for path in expected if path not in found)
            yield from some(f"{path} is {words}, but should not be" for path in sorted(found.difference(expected)))


def compare_queued(scenario: QueueScenario, step: QueueStep) -> Iterator[str]:
    """What the scan had to queue; and it queues nothing but what is due."""
    wanted = dict.fromkeys([*scenario.expect.queued_after_scan, *step.due])
    allowed = {*step.due, *(file.path for file in scenario.files if file.queued)}
    yield from some(f"{path} {NOT_QUEUED}" for path in wanted if path not in step.queued)
    yield from some(f"{path} is not due, but was queued" for path in step.queued if path not in allowed)


def compare_ticks(scenario: QueueScenario, steps: list[QueueStep]) -> Iterator[str]:
    """Differences from the bounds; ticks count from 1."""
    expect = scenario.expect
    parses = {step.tick: {read.path for read in step.read if read.parse} for step in steps}
    callbacks = {step.tick: {read.path for read in step.read if read.callbacks} for step in steps}
    for path in expect.queued_after_scan:
        if path not in steps[0].queued:
            yield f"{path} {NOT_QUEUED}"
    for bound in expect.parsed_within:
        yield from missed(bound.path, 1, bound.ticks, parses, "be parsed")
    for bound in expect.reparsed_after_edit_within:
        for tick in edits_of(scenario, bound, len(steps)):
            yield from missed(bound.path, tick, tick + bound.ticks, parses, f"be parsed after the edit in tick {tick}")
    for window in expect.callbacks_run_within:
        last = window.from_tick + window.ticks - 1
        yield from missed(window.path, window.from_tick, last, callbacks, "have its callbacks run")


def edits_of(scenario: QueueScenario, bound: Window, last: int) -> list[int]:
    """The ticks of a file's edits; of edits in every tick those whose bounds end before the simulation does."""
    edits = [edit for edit in scenario.edits if edit.path == bound.path]
    ticks = {edit.tick for edit in edits if edit.tick is not None}
    if any(edit.tick is None for edit in edits):
        ticks.update(range(1, last - bound.ticks + 1))
    return sorted(ticks)


def missed(path: str, first: int, last: int, happened: dict[int, set[str]], what: str) -> Iterator[str]:
    ticks = [tick for tick, found in happened.items() if path in found and tick >= first]
    if not ticks:
        yield f"{path} should {what} by tick {last}, but never did"
    elif ticks[0] > last:
        yield f"{path} should {what} by tick {last}, but did in tick {ticks[0]}"


def file_row(file: QueueFile) -> dict[str, Any]:
    parsed = None if file.last_parsed is None else at(file.last_parsed)
    unchanged = parsed or START
    return {
        "bundle": BUNDLE,
        "path": file.path,
        "path_hash": path_hash(file.path),
        "found_at": min(START, parsed or START),
        "mtime": unchanged if file.mtime is None else at(file.mtime),
        "last_parse_start": parsed,
        "last_parse_end": parsed,
        "last_callback": None if file.last_callback is None else at(file.last_callback),
    }


def request_row(file_id: int, file: QueueFile) -> dict[str, Any]:
    return {
        "file_id": file_id,
        "lane": "standard",
        "line": 0 if file.last_parsed is None else 1,
        "kind": "disk",
        "parse": True,
        "enqueued_at": START,
    }


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def database_value(connection: sa.Connection, value: Any) -> Any:
    """MySQL keeps times in UTC without an offset."""
    if isinstance(value, datetime) and connection.dialect.name == "mysql":
        return value.replace(tzinfo=None)
    return value
