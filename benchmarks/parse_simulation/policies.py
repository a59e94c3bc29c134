"""The queues that are compared: one queue as Airflow had and has it, and selectq's as its oracle works it out.

Models of the queueing alone, after reading Airflow's source: which file is read next, and what counts as a parse.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from tests import parse_oracle

MIN_INTERVAL = 30.0


@dataclass
class Reading:
    """A slot's work for one step: whether the file is parsed, and the callbacks that run: (arrival, SLA or not)."""

    file: int
    parse: bool
    callbacks: list[tuple[float, bool]]


class OneQueue:
    """One queue that is filled from disk only when it is empty; callbacks jump it.

    Args:
        sla: where SLA callbacks go: ``front`` (before #25147) or ``back`` (since).
        move: a callback's file moves to the front even if it waits already (Airflow 2); Airflow 3 leaves it there.
        callbacks_only: a reading that runs callbacks is no parse, and does not count for the interval (Airflow 3).
    """

    def __init__(self, files: int, sla: str, move: bool, callbacks_only: bool) -> None:
        self.sla, self.move, self.callbacks_only = sla, move, callbacks_only
        self.files = range(files)
        self.waiting: OrderedDict[int, None] = OrderedDict()
        self.callbacks: dict[int, list[tuple[float, bool]]] = defaultdict(list)
        self.parsed: dict[int, float] = {}

    def arrive(self, file: int, sla: bool, at: float) -> None:
        self.callbacks[file].append((at, sla))
        if sla and self.sla == "back":
            self.waiting.setdefault(file)
        elif self.move or file not in self.waiting:
            self.waiting[file] = None
            self.waiting.move_to_end(file, last=False)

    def look(self, now: float) -> None:
        """Fill the queue from disk if it is empty; before new callbacks come in, which is the best case for it."""
        if not self.waiting:
            due = (file for file in self.files if now - self.parsed.get(file, -MIN_INTERVAL) >= MIN_INTERVAL)
            self.waiting.update((file, None) for file in due)

    def step(self, slots: int, now: float) -> Iterable[Reading]:
        for _ in range(min(slots, len(self.waiting))):
            file, _ = self.waiting.popitem(last=False)
            callbacks = self.callbacks.pop(file, [])
            parse = not (callbacks and self.callbacks_only)
            if parse:
                self.parsed[file] = now
            yield Reading(file, parse, callbacks)


@dataclass
class TwoLanes:
    """selectq's queue, by the oracle that its SQL is held against."""

    files: int
    share: float
    longest: float
    queue: parse_oracle.Queue = field(init=False)

    def __post_init__(self) -> None:
        self.queue = parse_oracle.Queue(round(self.share * parse_oracle.WHOLE), MIN_INTERVAL, self.longest)
        self.queue.scan("b", {str(file): -1e6 for file in range(self.files)}, 0)

    def arrive(self, file: int, sla: bool, at: float) -> None:
        self.queue.enqueue(("b", str(file)), "sla_callback" if sla else "dag_callback", at, (at, sla))

    def look(self, now: float) -> None:
        """Queue what is due, if all of the last time is served."""
        self.queue.refill(now)

    def step(self, slots: int, now: float) -> Iterable[Reading]:
        for claim in self.queue.claim(slots, now):
            self.queue.finish(claim, now)
            yield Reading(int(claim.key[1]), claim.parse, cast("list[tuple[float, bool]]", claim.callbacks))


Policy = OneQueue | TwoLanes


def policies(files: int) -> dict[str, Policy]:
    """All that are compared, by name."""
    return {
        "one queue, before #25147": OneQueue(files, "front", move=True, callbacks_only=False),
        "one queue, after #25147": OneQueue(files, "back", move=True, callbacks_only=False),
        "one queue, Airflow 3.3.2": OneQueue(files, "front", move=False, callbacks_only=True),
        "selectq, default": TwoLanes(files, 1, 120),
        "selectq, share 0.75": TwoLanes(files, 0.75, 120),
        "selectq, share 0.5": TwoLanes(files, 0.5, 120),
        "selectq, no breather": TwoLanes(files, 1, 0),
    }
