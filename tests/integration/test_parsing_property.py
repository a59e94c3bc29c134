"""The parse queue against the oracle: the same steps, the same files in the same order, on every engine.

With ``SELECTQ_TEST_EXAMPLES=500`` in the environment the search is longer, and new each time.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from selectq.parsing import Arrival, ClaimedFile, FoundFile, Settings, statements
from selectq.parsing.scan import parts, scan_part
from tests import parse_oracle as oracle

EXAMPLES = os.environ.get("SELECTQ_TEST_EXAMPLES")
START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)

many_histories = settings(
    max_examples=int(EXAMPLES or 40),
    derandomize="CI" in os.environ and EXAMPLES is None,
    # Each example works in a transaction of its own that is rolled back, so they can share a database.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

PATHS = ["a.py", "b.py", "é/ü.py", "E/U.py", "c" * 1200 + ".py", "d.py "]
KINDS = ["dag_callback", "dag_callback", "sla_callback", "requested"]

paths = st.sampled_from(PATHS)
steps = st.one_of(
    st.tuples(st.just("advance"), st.sampled_from([1, 7, 30, 31, 150, -3, -500])),
    st.tuples(st.just("arrive"), st.lists(st.tuples(paths, st.sampled_from(KINDS)), min_size=1, max_size=4)),
    st.tuples(st.just("scan"), st.dictionaries(paths, st.sampled_from([-5000, -100, -20, 0]))),
    st.tuples(st.just("edit"), paths),
    st.tuples(st.just("refill"), st.none()),
    st.tuples(st.just("claim"), st.integers(1, 4)),
    st.tuples(st.just("claim"), st.integers(1, 2)),
    st.tuples(st.just("finish"), st.integers(0, 3)),
    st.tuples(st.just("give_back"), st.none()),
)
storms = st.tuples(st.just("storm"), st.tuples(st.integers(1, 6), st.lists(paths, min_size=1, max_size=3)))
histories = st.lists(st.one_of(steps, steps, storms), min_size=5, max_size=40)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class Both:
    """Takes each step in the tables and in the oracle."""

    def __init__(self, connection: sa.Connection, share: int, longest: int) -> None:
        self.connection = connection
        self.settings = Settings(30, longest, share / oracle.WHOLE, timeout=60)
        self.oracle = oracle.Queue(share=share, max_interval=longest, timeout=60)
        self.clock = 0.0
        self.mtimes: dict[str, float] = {}
        self.claims: list[tuple[ClaimedFile, oracle.Claim]] = []
        self.payloads = 0

    @property
    def now(self) -> datetime:
        return at(self.clock)

    def step(self, name: str, value: Any) -> None:
        getattr(self, name)(value)
        self.compare()

    def storm(self, what: tuple[int, list[str]]) -> None:
        """Turns of a busy loop: callbacks for some files, one slot, everything finished in time."""
        turns, stormy = what
        for _ in range(turns):
            self.arrive([(path, "dag_callback") for path in stormy])
            self.refill(None)
            self.claim(1)
            self.advance(25)
            self.give_back(None)
            self.finish(0)

    def advance(self, seconds: float) -> None:
        self.clock += seconds

    def arrive(self, arrivals: list[tuple[str, str]]) -> None:
        given = []
        for path, kind in arrivals:
            payload = None if kind == "requested" else {"n": self.payloads, "path": path}
            self.payloads += 1
            given.append(Arrival("b", path, kind, payload))
            self.oracle.enqueue(("b", path), kind, self.clock, payload)
        statements.enqueue(self.connection, given, self.now)

    def scan(self, listed: dict[str, float]) -> None:
        # Files that are not named keep being there half of the time: deletions are the exception.
        self.mtimes = listed if len(listed) % 2 else self.mtimes | listed
        self.list_all()

    def edit(self, path: str) -> None:
        self.mtimes = self.mtimes | {path: self.clock}
        self.list_all()

    def list_all(self) -> None:
        self.oracle.scan("b", self.mtimes, self.clock)
        found = [FoundFile(path, at(mtime)) for path, mtime in self.mtimes.items()]
        for part in parts(found):
            scan_part(self.connection, "b", part, self.now + timedelta(days=9), self.now)
        self.claims = [pair for pair in self.claims if pair[1].key in self.oracle.files]

    def refill(self, nothing: None) -> None:
        assert statements.refill(self.connection, self.settings, self.now) == self.oracle.refill(self.clock)

    def claim(self, slots: int) -> None:
        wanted = self.oracle.claim(slots, self.clock)
        claimed = statements.claim(self.connection, slots, self.settings, "me", self.now)
        assert [shape(file) for file in claimed] == [
            (claim.key, claim.lane, claim.parse, claim.callbacks) for claim in wanted
        ]
        self.claims += zip(claimed, wanted, strict=True)

    def finish(self, index: int) -> None:
        if index < len(self.claims):
            file, claim = self.claims.pop(index)
            done = statements.finish(self.connection, file, dag_ids=["d"], now=self.now)
            assert done == self.oracle.finish(claim, self.clock)

    def give_back(self, nothing: None) -> None:
        assert statements.give_back(self.connection, self.settings, self.now) == self.oracle.give_back(self.clock)

    def compare(self) -> None:
        found = statements.waiting(self.connection, now=self.now)
        wanted = [
            (lane, key[1], 1000 * max(self.clock - entry.since, 0))
            for lane in oracle.LANES
            for entry, key in sorted(
                ((file.waiting[lane], key) for key, file in self.oracle.files.items() if lane in file.waiting),
                key=lambda pair: pair[0].place,
            )
        ]
        assert [(row.lane, row.path, row.age_ms) for row in found] == wanted
        assert statements.due(self.connection, self.settings, self.now) == sorted(
            self.oracle.due(self.clock), key=lambda key: key[1].encode()
        )
        counted = statements.metrics(self.connection, self.now)
        assert (counted.refills, counted.breathers) == (self.oracle.refills, self.oracle.breathers)


def shape(file: ClaimedFile) -> tuple[oracle.FileKey, str, bool, list[object]]:
    return file.key, file.lane, file.parse, [callback.payload for callback in file.callbacks]


@many_histories
@given(
    history=histories,
    share=st.sampled_from([0, 300_000, 500_000, 999_999, oracle.WHOLE, oracle.WHOLE]),
    longest=st.sampled_from([0, 60, 120]),
    known=st.lists(paths),
)
def test_every_step_equals_the_oracle(
    engine: sa.Engine, history: list[tuple[str, Any]], share: int, longest: int, known: list[str]
) -> None:
    with engine.connect() as connection:
        both = Both(connection, share, longest)
        both.step("scan", dict.fromkeys(known, -5000))
        for name, value in history:
            both.step(name, value)
        connection.rollback()
