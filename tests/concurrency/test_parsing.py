"""Several processors, senders of callbacks and scanners at once on one parse queue: nothing is lost or shared."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from selectq.parsing import Arrival, ClaimedFile, FoundFile, ParseQueue, Settings

PATHS = [f"f{number}.py" for number in range(8)]
OLD = datetime(2026, 1, 1, tzinfo=UTC)
CALLBACKS_PER_SENDER = 60
SENDERS = 2
PROCESSORS = 3


class Witness:
    """Sees every reading of a file begin and end."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reading: set[str] = set()
        self.shared: list[str] = []
        self.delivered: dict[str, list[int]] = defaultdict(list)
        self.perhaps_twice: set[int] = set()
        self.parses: dict[str, int] = defaultdict(int)

    def begin(self, file: ClaimedFile) -> None:
        with self.lock:
            if file.path in self.reading:
                self.shared.append(file.path)
            self.reading.add(file.path)
            self.delivered[file.path] += [callback.payload for callback in file.callbacks]

    def end(self, file: ClaimedFile, died: bool) -> None:
        with self.lock:
            self.reading.discard(file.path)
            self.parses[file.path] += file.parse and not died
            if died:
                self.perhaps_twice.update(callback.payload for callback in file.callbacks)


def process(queue: ParseQueue, witness: Witness, over: threading.Event, deaths: int, seed: int) -> None:
    """Claim, read and finish; now and then die over a claim, until all that was sent is delivered."""
    chance = random.Random(seed)
    while not over.is_set():
        claimed = queue.claim(chance.randint(1, 3))
        for file in claimed:
            witness.begin(file)
        time.sleep(0.002)
        for file in claimed:
            died = deaths > 0 and chance.random() < 0.1
            deaths -= died
            witness.end(file, died)
            if not died:
                assert queue.finish(file), "a claim that holds"


def send(queue: ParseQueue, sender: int) -> None:
    """Callbacks with growing numbers; many to few files, some to the standard lane."""
    chance = random.Random(sender)
    for number in range(CALLBACKS_PER_SENDER):
        payload = number * SENDERS + sender
        kind = "sla_callback" if chance.random() < 0.3 else "dag_callback"
        queue.enqueue([Arrival("b", PATHS[(payload * payload) % len(PATHS)], kind, payload)])


def look_after(queue: ParseQueue, over: threading.Event) -> None:
    """Scan, refill and give back, as a loop around the queue does."""
    turn = 0
    while not over.is_set():
        turn += 1
        queue.give_back()
        queue.refill()
        if turn % 5 == 0:
            edited = PATHS[turn % len(PATHS)]
            queue.scan("b", [FoundFile(path, OLD + timedelta(days=turn * (path == edited))) for path in PATHS])
        time.sleep(0.01)


@pytest.mark.parametrize("deaths", [0, 3])
def test_many_at_once(engine: sa.Engine, deaths: int) -> None:
    settings = Settings(min_file_process_interval=0.2, callback_share=0.5, timeout=3 if deaths else 3600)
    witness, over = Witness(), threading.Event()

    def queue() -> ParseQueue:
        return ParseQueue(engine, settings, attempts=20)

    queue().scan("b", [FoundFile(path, OLD) for path in PATHS])
    sent = range(CALLBACKS_PER_SENDER * SENDERS)
    with ThreadPoolExecutor(SENDERS + PROCESSORS + 1) as threads:
        work: list[Callable[[], None]] = [lambda: look_after(queue(), over)]
        work += [lambda seed=seed: process(queue(), witness, over, deaths, seed) for seed in range(PROCESSORS)]
        running = [threads.submit(each) for each in work]
        senders = [threads.submit(send, queue(), sender) for sender in range(SENDERS)]
        try:
            for future in senders:
                future.result()
            until = time.monotonic() + 30
            while time.monotonic() < until and not all(future.done() for future in running):
                with witness.lock:
                    seen = {payload for payloads in witness.delivered.values() for payload in payloads}
                    if seen >= set(sent) and not witness.reading and min(witness.parses.values(), default=0) > 1:
                        break
                time.sleep(0.02)
        finally:
            over.set()
        for future in running:
            future.result()

    assert witness.shared == [], "a file is read by one processor at a time"
    seen = [payload for payloads in witness.delivered.values() for payload in payloads]
    assert set(seen) == set(sent), "nothing is lost"
    twice = {payload for payload in seen if seen.count(payload) > 1}
    assert twice <= witness.perhaps_twice, "once, unless a processor died over it"
    assert sorted(witness.parses) == PATHS
    assert min(witness.parses.values()) > 1, "every file is parsed again"
    for payloads in witness.delivered.values():
        for sender in range(SENDERS):
            own = list(dict.fromkeys(payload for payload in payloads if payload % SENDERS == sender))
            assert own == sorted(own), "in the order in which they were sent"
