"""What goes into the parse queue and comes out of it: frozen rows, one class per shape."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

FileKey = tuple[str, str]
"""(bundle, path): what a dag file is known by, whatever version of it a callback speaks of."""

LANE_OF = {"requested": "requested", "dag_callback": "priority", "sla_callback": "standard"}
"""Kind of an arrival -> the lane it waits in."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Something that wants a file to be read.

    ``kind`` is ``dag_callback``, ``sla_callback`` or ``requested`` (a user asks for a parse). ``payload`` is what the
    callback needs, any JSON value, the version of the file included if it matters; a request has none.
    """

    bundle: str
    path: str
    kind: str
    payload: Any = None


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that a scan has found. ``mtime`` is its modification time, ``digest`` its SHA-256 in hex or None."""

    path: str
    mtime: datetime
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a scan changed, in files. ``skipped`` are names that are no UTF-8 or too long, as text to show."""

    found: int
    new: int
    changed: int
    forgotten: int
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Callback:
    """One callback of a claim; ``kind`` is ``dag_callback`` or ``sla_callback``."""

    kind: str
    payload: Any


@dataclass(frozen=True, slots=True)
class ClaimedFile:
    """A file that is the caller's alone until it is finished, or given back after the timeout.

    ``lane`` is the lane whose turn it took. ``parse``: import its dags; if false it is read for the callbacks alone.
    ``callbacks`` are all that waited for the file, in the order in which they arrived.
    """

    file_id: int
    bundle: str
    path: str
    lane: str
    parse: bool
    callbacks: tuple[Callback, ...]
    claim_token: UUID

    @property
    def key(self) -> FileKey:
        return (self.bundle, self.path)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that waits; ``age_ms`` is milliseconds since the first arrival, ``merged`` the repeats that joined."""

    lane: str
    bundle: str
    path: str
    kind: str
    merged: int
    age_ms: int


@dataclass(frozen=True, slots=True)
class Lane:
    """Depth of a lane, and the age of its oldest request in milliseconds (None: nothing waits)."""

    lane: str
    depth: int
    oldest_age_ms: int | None


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts of the queue (``parsing/metrics`` says what each is) and its lanes, in the order of their service."""

    lanes: tuple[Lane, ...]
    files: int
    being_read: int
    outstanding: int
    refills: int
    refilled_at: datetime | None
    breathers: int
    breather_at: datetime | None
    parses: int
    merged: int
    given_back: int
