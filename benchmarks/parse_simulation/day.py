"""A day, step by step: what arrives, how old files and callbacks get."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from benchmarks.parse_simulation.policies import Policy

FILES = 1_000
STEP = 5
"""Seconds that a slot reads a file."""
SLOTS = 8
DAY = 86_400
BUCKET = 600
"""Seconds of the day that one point of the plot stands for."""

BUSY_FILE = 0
"""Its dag has a callback every second, all day."""
ELSEWHERE = 0.5
"""Callbacks per second of all other dags together."""
SLA_STORMS = ((6 * 3600, 8 * 3600), (13 * 3600, 14 * 3600))
SLA_FILES = range(1, 31)
"""In a storm each of these has an SLA callback in every step: more of them than slots."""
CALLBACK_STORM = (18 * 3600, 20 * 3600)
CALLBACK_FILES = range(31, 46)
"""In that storm each of these has a dag callback in every step."""


@dataclass
class Ages:
    """Seconds. Per bucket the oldest file and the slowest dag callback; over the day sampled ages, and all waits."""

    oldest_file: list[float] = field(default_factory=list)
    slowest_callback: list[float] = field(default_factory=list)
    files: list[float] = field(default_factory=list)
    dag_callbacks: list[float] = field(default_factory=list)
    sla_callbacks: list[float] = field(default_factory=list)

    @property
    def row(self) -> list[str]:
        """Worst and median of files, dag callbacks and SLA callbacks."""
        figures = []
        for ages in (self.files, self.dag_callbacks, self.sla_callbacks):
            figures += [max(ages, default=0), median(ages or [0])]
        return [f"{figure:,.0f}" for figure in figures]

    def waited(self, seconds: float, sla: bool) -> None:
        (self.sla_callbacks if sla else self.dag_callbacks).append(seconds)


def arrivals(now: float, chance: random.Random) -> Iterator[tuple[int, bool, float]]:
    """(file, SLA callback or not, time) of the step that ends now."""
    for second in range(STEP):
        at = now - STEP + second
        yield BUSY_FILE, False, at
        if chance.random() < ELSEWHERE:
            yield chance.randrange(FILES), False, at
    if any(start <= now < end for start, end in SLA_STORMS):
        yield from ((file, True, now) for file in SLA_FILES)
    if CALLBACK_STORM[0] <= now < CALLBACK_STORM[1]:
        yield from ((file, False, now) for file in CALLBACK_FILES)


def simulate(policy: Policy, seconds: int = DAY, seed: int = 1) -> Ages:
    """Run a policy; everything is parsed at the start."""
    chance = random.Random(seed)
    parsed = dict.fromkeys(range(FILES), 0.0)
    waiting: dict[int, list[tuple[float, bool]]] = {}
    ages = Ages()
    slowest = oldest = 0.0
    for now in range(STEP, seconds + 1, STEP):
        policy.look(now)
        for file, sla, at in arrivals(now, chance):
            policy.arrive(file, sla, at)
            waiting.setdefault(file, []).append((at, sla))
        for reading in policy.step(SLOTS, now):
            if reading.parse:
                oldest = max(oldest, now - parsed[reading.file])
                parsed[reading.file] = now
            for at, sla in reading.callbacks:
                ages.waited(now - at, sla)
                slowest = max(slowest, 0 if sla else now - at)
            if reading.callbacks:
                waiting.pop(reading.file, None)
        if now % BUCKET == 0:
            found = [now - at for at in parsed.values()]
            unserved = [now - at for callbacks in waiting.values() for at, sla in callbacks if not sla]
            ages.files += found
            ages.oldest_file.append(max(oldest, *found))
            ages.slowest_callback.append(max([slowest, *unserved]))
            slowest = oldest = 0.0
    # What never ran counts with the age that it has at the end.
    for callbacks in waiting.values():
        for at, sla in callbacks:
            ages.waited(seconds - at, sla)
    ages.files.append(max(ages.oldest_file))
    return ages
