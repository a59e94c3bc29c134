"""What a scenario of kind ``filequeue`` says, checked: frozen records (``tests/cases/FORMAT.md``)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueFile:
    """A file as it is at the start; times in seconds before (negative) or after the start, None = never.

    ``mtime`` None: the file has not changed since its last parse. ``queued``: it waits in the standard lane.
    """

    path: str
    last_parsed: float | None
    mtime: float | None
    last_callback: float | None
    queued: bool


@dataclass(frozen=True, slots=True)
class Event:
    """A callback or an edit: ``times`` of it in tick ``tick``, or in every tick if that is None."""

    path: str
    tick: int | None
    times: int

    def happens(self, tick: int) -> bool:
        """Whether it happens in that tick."""
        return self.tick in (None, tick)


@dataclass(frozen=True, slots=True)
class Window:
    """A bound on a file: ``ticks`` ticks, counted from ``from_tick`` where the bound has one."""

    path: str
    ticks: int
    from_tick: int = 1


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """Settings of the queue and of the simulation; ``ticks`` None = there is none. Times in seconds."""

    min_interval: float
    max_interval: float
    callback_share: float
    slots: int
    tick_seconds: float
    ticks: int | None


@dataclass(frozen=True, slots=True)
class QueueExpectation:
    """What must come out; None = not given. ``due`` and ``not_due`` are exact, the others are bounds."""

    due: tuple[str, ...] | None
    not_due: tuple[str, ...] | None
    queued_after_scan: tuple[str, ...]
    parsed_within: tuple[Window, ...]
    reparsed_after_edit_within: tuple[Window, ...]
    callbacks_run_within: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class QueueScenario:
    """A whole file of kind ``filequeue``."""

    id: str
    title: str
    config: QueueConfig
    files: tuple[QueueFile, ...]
    callbacks: tuple[Event, ...]
    edits: tuple[Event, ...]
    expect: QueueExpectation
