"""Which results of a full benchmark meet their targets."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.measure import Explained, Measured
from benchmarks.reads import Reads
from benchmarks.results import Place, Point, Results
from benchmarks.targets import LARGE, SMALL, Verdict, verdicts
from benchmarks.timing import Times

HISTORY = 3_000_000


def times(median: float) -> Times:
    return Times((median - 1, median, median + 1, median, median, median, median))


def point(workload: str, rows: int, history: int = 0, whole: float = 20, why: float = 30) -> Point:
    measured = Measured(
        claimed=512,
        holders=88,
        whole=times(whole),
        update=times(10),
        select=times(15),
        statements=3,
        rows_fetched=1027,
        reads=(Reads("selection/select_executable.v1", 7000, 1), Reads("selection/claim.v1", 5000, 1)),
    )
    explained = Explained(select=times(10), blocked=times(why), deep=times(why - 5))
    return Point(Place(workload, rows, history), 1, 2.5, measured, explained)


GOOD = [
    point(workload, rows, history, whole)
    for workload, rows, history, whole in [
        ("uniform", SMALL, 0, 12),
        ("uniform", LARGE, 0, 24),
        ("uniform", SMALL, HISTORY, 15),
        ("uniform", LARGE, HISTORY, 25),
        ("floods", SMALL, 0, 50),
        ("floods", LARGE, 0, 96),
    ]
]


def peer(times_faster: float = 600, fills_batch: bool = True, started: int = 441, **fields: Any) -> dict[str, Any]:
    """The row of the comparison that counts."""
    row = {"peer": "airflow", "workload": "mixed", "scheduled": LARGE, "max_tis": 512, "theirs": {"started": started}}
    return row | {"times_faster": times_faster, "fills_batch": fills_batch} | fields


PEERS = [peer(5, scheduled=SMALL), peer(4, peer="other"), peer(3, workload="pools"), peer()]


def judged(
    points: Sequence[Point], peers: Sequence[Mapping[str, Any]] = PEERS, engine: str = "postgresql"
) -> dict[str, Verdict]:
    results = Results(engine, "PostgreSQL 18", datetime.date(2026, 5, 4), 2, 512, list(points))
    return {verdict.measure: verdict for verdict in verdicts(results, ["uniform", "floods", "wide"], peers)}


def changed(number: int, **fields: Any) -> list[Point]:
    """The good points, one of them measured otherwise."""
    points = list(GOOD)
    measured = points[number].measured
    assert measured
    points[number] = replace(points[number], measured=replace(measured, **fields))
    return points


GROWTH = "select + claim, 1,000,000 against 10,000: {}"
UPDATE = "select + claim against the bare UPDATE, 1,000,000, uniform"
WORST = "slowest workload against uniform, 1,000,000"
READS = "rows and index entries read per pass"
TRIPS = "round trips per pass, with the claim"
PEER_NAME = "against Airflow's pass, 1,000,000, mixed limits"
WHY = "why of one task instance against a selection, 1,000,000"
EXACT = "every result equals the straight walk's"
REPETITIONS = "repetitions"


def test_all_that_was_measured_is_good() -> None:
    found = judged(GOOD)
    assert {name: (one.found, one.passed) for name, one in found.items()} == {
        GROWTH.format("uniform"): ("2.00 (no history)", True),
        GROWTH.format("floods"): ("1.92 (no history)", True),
        GROWTH.format("wide"): ("not measured", None),
        UPDATE: ("2.50 (3,000,000 of history)", True),
        WORST: ("4.00 (floods, 1,000,000, no history)", True),
        READS: ("12,000 of 12,000 (uniform, 10,000, no history)", True),
        TRIPS: ("3 (uniform, 10,000, no history)", True),
        PEER_NAME: ("600 times; batch filled, Airflow's 441 of 512", True),
        WHY: ("3.00 (uniform, 1,000,000, no history)", True),
        EXACT: ("all repetitions at 6 points", True),
        REPETITIONS: ("7 at least", True),
    }


@pytest.mark.parametrize(
    ("points", "measure", "said"),
    [
        (changed(2, whole=times(12)), GROWTH.format("uniform"), "2.08 (3,000,000 of history)"),
        (changed(4, whole=times(47)), GROWTH.format("floods"), "2.04 (no history)"),
        (changed(1, update=times(9)), UPDATE, "2.67 (no history)"),
        (changed(5, whole=times(97)), WORST, "4.04 (floods, 1,000,000, no history)"),
        (changed(4, holders=87), READS, "12,000 of 11,980 (floods, 10,000, no history)"),
        (changed(2, statements=4), TRIPS, "4 (uniform, 10,000, 3,000,000 of history)"),
        ([*GOOD, point("wide", LARGE, why=51)], WHY, "5.10 (wide, 1,000,000, no history)"),
        (changed(0, whole=Times((12.0,) * 6)), REPETITIONS, "6 at least"),
    ],
)
def test_one_measure_is_over_its_target(points: list[Point], measure: str, said: str) -> None:
    found = judged(points)
    assert (found[measure].found, found[measure].passed) == (said, False)
    assert [name for name, one in found.items() if one.passed is False] == [measure]


def test_a_wrong_result_fails_and_its_figures_count_nowhere() -> None:
    wrong = Point(Place("floods", LARGE, 0), 1, 2.5, wrong="select: 511 rows instead of 512")
    found = judged([*GOOD[:5], wrong])
    assert found[EXACT].passed is False
    assert found[EXACT].found == "floods, 1,000,000, no history: select: 511 rows instead of 512"
    assert found[GROWTH.format("floods")].passed is None


def test_explaining_at_the_smaller_sizes_is_not_judged() -> None:
    assert judged([*GOOD, point("wide", 100_000, why=999)])[WHY].passed is True


@pytest.mark.parametrize(
    ("peers", "said", "passed"),
    [
        ([], "not measured", None),
        (PEERS[:-1], "not measured", None),
        ([peer(500)], "500 times; batch filled, Airflow's 441 of 512", True),
        ([peer(499)], "499 times; batch filled, Airflow's 441 of 512", False),
        ([peer(fills_batch=False)], "600 times; batch not filled, Airflow's 441 of 512", False),
        ([peer(started=512)], "600 times; batch filled, Airflow's 512 of 512", False),
    ],
)
def test_against_the_peer(peers: list[dict[str, Any]], said: str, passed: bool | None) -> None:
    assert (judged(GOOD, peers)[PEER_NAME].found, judged(GOOD, peers)[PEER_NAME].passed) == (said, passed)


def test_mysql_has_targets_of_its_own() -> None:
    found = judged(changed(1, whole=times(36), statements=8), engine="mysql")
    assert (found[GROWTH.format("uniform")].target, found[GROWTH.format("uniform")].passed) == ("at most 3 times", True)
    assert (found[UPDATE].target, found[UPDATE].passed) == ("at most 4 times", True)
    assert (found[TRIPS].target, found[TRIPS].passed) == ("at most 8", True)
    assert found[PEER_NAME].target == "at least 300 times faster; the batch filled where Airflow's is not"


def test_nothing_measured() -> None:
    assert {verdict.passed for verdict in judged([], []).values()} == {None}
