"""The parse queue worked out in plain Python: lists and loops, nothing from selectq.

Times are seconds. One instance is one queue; a claim is one reading of one file. Entries of a lane stand in the order
of ``line`` (0: files that were never parsed) and then of ``number``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

WHOLE = 1_000_000
"""A share of 1, in millionths."""

FileKey = tuple[str, str]
"""(bundle, path)"""

LANES = ("requested", "priority", "standard")
LANE_OF = {"requested": "requested", "dag_callback": "priority", "sla_callback": "standard", "disk": "standard"}


@dataclass
class Entry:
    """Something that waits for a file in one lane."""

    number: int
    line: int
    lane: str
    since: float
    parse: bool
    refill: int | None = None
    callbacks: list[tuple[int, object]] = field(default_factory=list)

    @property
    def place(self) -> tuple[int, int]:
        return (self.line, self.number)


@dataclass
class Claim:
    """One reading of a file: what was waiting for it, what to do."""

    token: int
    key: FileKey
    since: float
    lane: str
    parse: bool
    entries: list[Entry]

    @property
    def callbacks(self) -> list[object]:
        return [payload for _, payload in sorted(each for entry in self.entries for each in entry.callbacks)]


@dataclass
class File:
    """What is known of a file; None = never, or not known."""

    mtime: float | None = None
    parsed_mtime: float | None = None
    last_parse_start: float | None = None
    last_parse_end: float | None = None
    last_callback: float | None = None
    waiting: dict[str, Entry] = field(default_factory=dict)
    claim: Claim | None = None

    @property
    def changed(self) -> bool:
        if self.mtime is None or self.last_parse_start is None:
            return False
        if self.parsed_mtime is None:
            return self.mtime > self.last_parse_start
        return self.mtime != self.parsed_mtime

    @property
    def read_at(self) -> float | None:
        """The last parse or callback; None = never parsed, or changed since."""
        if self.last_parse_end is None or self.changed:
            return None
        return max(self.last_parse_end, self.last_parse_end if self.last_callback is None else self.last_callback)

    @property
    def being_read(self) -> bool:
        """A claim is parsing just this version."""
        return self.claim is not None and self.claim.parse and self.mtime == self.parsed_mtime


def past(moment: float | None, interval: float, now: float) -> bool:
    """Never, that long ago, or after now: then the clock was set back and nothing is known."""
    return moment is None or moment <= now - interval or moment > now


@dataclass
class Queue:
    """The queue of one folder or many."""

    share: int = WHOLE
    """Millionths of the slots that the priority lane may take while the standard lane waits."""
    min_interval: float = 30
    max_interval: float = 120
    timeout: float = 300
    files: dict[FileKey, File] = field(default_factory=dict)
    credit: int = 0
    waits_since: float | None = None
    breather_at: float | None = None
    breather_up_to: int | None = None
    breathers: int = 0
    refills: int = 0
    merged: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    last_number: int = 0

    def due(self, now: float) -> list[FileKey]:
        """What a scan has found and that is to be parsed again."""
        found = {key: file for key, file in self.files.items() if file.mtime is not None}
        return [key for key, file in found.items() if past(file.read_at, self.min_interval, now)]

    def scan(self, bundle: str, listed: Mapping[str, float], now: float) -> None:
        """A listing of a whole bundle: path -> mtime."""
        for key in [key for key in self.files if key[0] == bundle and key[1] not in listed]:
            del self.files[key]
        for path, mtime in listed.items():
            self.files.setdefault((bundle, path), File()).mtime = mtime
        for key in sorted((bundle, path) for path in listed):
            file = self.files[key]
            if file.read_at is None and not file.being_read:
                self._wait(file, "standard", now, parse=True)

    def enqueue(self, key: FileKey, kind: str, now: float, payload: object = None) -> None:
        file = self.files.setdefault(key, File())
        lane = LANE_OF[kind]
        self.merged += lane in file.waiting
        entry = self._wait(file, lane, now, parse=kind == "requested")
        if kind != "requested":
            entry.callbacks.append((next(self.numbers), payload))

    def refill(self, now: float) -> int:
        """Queue all that is due, if no file of the last refill still waits; how many."""
        if any(entry.refill is not None for file in self.files.values() for entry in file.waiting.values()):
            return 0
        due = [key for key in self.due(now) if not self.files[key].being_read]
        due.sort(key=lambda key: (self.files[key].read_at is not None, self.files[key].read_at or 0, key[0], key[1]))
        self.refills += bool(due)
        for key in due:
            self._wait(self.files[key], "standard", now, parse=True).refill = self.refills
        return len(due)

    def claim(self, slots: int, now: float) -> list[Claim]:
        requested, priority, standard = (self._waiting(lane) for lane in LANES)
        most = self._turn(slots, now, requested, priority, standard)
        chosen = [(key, "requested") for key in requested[:slots]]
        taken = {key for key, _ in chosen}
        behind = [key for key in priority if key not in taken]
        for lane, keys in (("priority", behind[:most]), ("standard", standard), ("priority", behind[most:])):
            for key in keys:
                if key not in taken and len(chosen) < slots:
                    chosen.append((key, lane))
                    taken.add(key)
        return [self._claim(key, lane, now) for key, lane in chosen]

    def _turn(
        self, slots: int, now: float, requested: list[FileKey], priority: list[FileKey], standard: list[FileKey]
    ) -> int:
        """How many slots the priority lane may take before the standard lane is asked."""
        if self.breather_up_to is not None:
            owed = any(self.files[key].waiting["standard"].number <= self.breather_up_to for key in standard)
            assert self.breather_at is not None
            if owed and 0 <= now - self.breather_at < self.max_interval:
                return 0
            self.breather_up_to = None
        if not (priority and standard):
            self.waits_since = None
            return slots
        left = slots - min(slots, len(requested))
        most, self.credit = divmod(self.credit + self.share * left, WHOLE)
        if min(most, len(priority)) < left:
            self.waits_since = None
        elif self.waits_since is None or self.waits_since > now:
            self.waits_since = now
        elif self.max_interval and now - self.waits_since >= self.max_interval:
            self.waits_since, self.breather_at, self.breather_up_to = None, now, self.last_number
            self.breathers += 1
            return 0
        return most

    def finish(self, claim: Claim, now: float) -> bool:
        """False if the claim is no longer the file's: nothing changes then."""
        file = self.files.get(claim.key)
        if file is None or file.claim is not claim:
            return False
        if claim.parse:
            file.last_parse_start, file.last_parse_end = claim.since, now
        if claim.callbacks:
            file.last_callback = now
        file.claim = None
        return True

    def give_back(self, now: float) -> int:
        """Claims of which nothing was heard in time go to the back of their lanes; how many."""
        overdue = []
        for file in self.files.values():
            if file.claim is not None and file.claim.since > now:
                file.claim.since = now
            elif file.claim is not None and file.claim.since <= now - self.timeout:
                overdue.append((file, file.claim))
        for entry, file in sorted(
            ((entry, file) for file, claim in overdue for entry in claim.entries), key=lambda pair: pair[0].number
        ):
            again = self._wait(file, entry.lane, entry.since, parse=entry.parse, line=1)
            again.since = min(again.since, entry.since)
            again.refill = again.refill if again.refill is not None else entry.refill
            again.callbacks += entry.callbacks
        for file, _ in overdue:
            file.claim = None
        return len(overdue)

    def _waiting(self, lane: str) -> list[FileKey]:
        """Files that can be claimed, in the lane's order."""
        found = [(file.waiting[lane].place, key) for key, file in self.files.items() if can_be_claimed(file, lane)]
        return [key for _, key in sorted(found)]

    def _wait(self, file: File, lane: str, now: float, parse: bool, line: int | None = None) -> Entry:
        """The entry of the file in the lane; a new one stands at the end."""
        if lane not in file.waiting:
            self.last_number = next(self.numbers)
            if line is None:
                line = 0 if lane == "standard" and file.last_parse_end is None else 1
            file.waiting[lane] = Entry(self.last_number, line, lane, now, parse)
        file.waiting[lane].parse |= parse
        return file.waiting[lane]

    def _claim(self, key: FileKey, lane: str, now: float) -> Claim:
        file = self.files[key]
        entries = list(file.waiting.values())
        parse = any(entry.parse for entry in entries)
        parse = parse or file.changed or past(file.last_parse_end, self.min_interval, now)
        file.waiting = {}
        file.claim = Claim(next(self.numbers), key, now, lane, parse, entries)
        if parse:
            file.parsed_mtime = file.mtime
        return file.claim


def can_be_claimed(file: File, lane: str) -> bool:
    return lane in file.waiting and file.claim is None
