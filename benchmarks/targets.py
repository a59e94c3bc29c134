"""What must hold, and whether it does: one verdict per measure, from the results of one engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.results import Place, Point, Results

SMALL, LARGE = 10_000, 1_000_000
READS_PER_HOLDER = 20
WHY_PER_SELECT = 5.0
BASE = "uniform"
LEAST_RUNS = 7
PEER = ("airflow", "mixed", LARGE)
"""Peer, workload and size of the row of the comparison that is judged."""


@dataclass(frozen=True)
class Limits:
    """The most that is allowed on an engine, and how many times faster than the peer a pass must be."""

    growth: float
    """Select + claim, a million rows against ten thousand."""
    per_update: float
    worst: float
    """The slowest workload against the uniform one."""
    round_trips: int
    peer: float


LIMITS = {
    "postgresql": Limits(growth=2, per_update=2.5, worst=4, round_trips=3, peer=500),
    "mysql": Limits(growth=3, per_update=4, worst=4, round_trips=8, peer=300),
}


@dataclass(frozen=True)
class Verdict:
    """``passed`` is None if what it takes was not measured."""

    measure: str
    target: str
    found: str
    passed: bool | None


@dataclass(frozen=True)
class Figure:
    """A number, and where it was found."""

    value: float
    where: str


def verdicts(results: Results, workloads: Sequence[str], peers: Sequence[Mapping[str, Any]] = ()) -> list[Verdict]:
    """Every measure against its target.

    Args:
        workloads: names of all there are: one that was not measured shows as such.
        peers: rows of the peer comparison, as ``benchmarks.results.peer_rows`` reads them.
    """
    limits = LIMITS[results.engine]
    return [
        *(growth(results, name, limits.growth) for name in workloads),
        at_most(
            f"select + claim against the bare UPDATE, {LARGE:,}, {BASE}",
            limits.per_update,
            [
                Figure(point.measured.ratio, history_of(point.place))
                for point in good(results)
                if point.measured and point.place.workload == BASE and point.place.rows == LARGE
            ],
        ),
        at_most(f"slowest workload against {BASE}, {LARGE:,}", limits.worst, list(against_base(results))),
        reads(results),
        round_trips(results, limits.round_trips),
        faster_than_peer(peers, limits.peer),
        at_most(
            f"why of one task instance against a selection, {LARGE:,}",
            WHY_PER_SELECT,
            [
                Figure(point.explained.ratio, place_in_words(point.place))
                for point in good(results)
                if point.explained and point.place.rows == LARGE
            ],
        ),
        exact(results),
        repetitions(results),
    ]


def growth(results: Results, workload: str, limit: float) -> Verdict:
    """With and without history, each against the small backlog of its kind."""
    found = []
    for history in sorted({point.place.history for point in results.points}):
        small, large = results.at(workload, SMALL, history), results.at(workload, LARGE, history)
        if small and large:
            place = Place(workload, LARGE, history)
            found.append(Figure(large.whole.median / small.whole.median, history_of(place)))
    return at_most(f"select + claim, {LARGE:,} against {SMALL:,}: {workload}", limit, found)


def against_base(results: Results) -> Iterator[Figure]:
    for point in good(results):
        base = results.at(BASE, LARGE, point.place.history)
        if point.measured and base and point.place.rows == LARGE and point.place.workload != BASE:
            yield Figure(point.measured.whole.median / base.whole.median, place_in_words(point.place))


def reads(results: Results) -> Verdict:
    """The pass that comes nearest to its bound, or goes furthest over it."""
    name = "rows and index entries read per pass"
    target = f"at most {READS_PER_HOLDER} x (max_tis + holders touched)"
    found = [
        (measured.reads_of_pass, bound_of_reads(results.max_tis, measured.holders), place_in_words(point.place))
        for point in good(results)
        if (measured := point.measured)
    ]
    if not found:
        return Verdict(name, target, "not measured", None)
    read, bound, where = max(found, key=lambda one: one[0] / one[1])
    return Verdict(name, target, f"{read:,} of {bound:,} ({where})", read <= bound)


def bound_of_reads(max_tis: int, holders: int) -> int:
    return READS_PER_HOLDER * (max_tis + holders)


def round_trips(results: Results, limit: int) -> Verdict:
    name, target = "round trips per pass, with the claim", f"at most {limit}"
    found = [
        Figure(point.measured.statements, place_in_words(point.place)) for point in good(results) if point.measured
    ]
    if not found:
        return Verdict(name, target, "not measured", None)
    worst = max(found, key=lambda figure: figure.value)
    return Verdict(name, target, f"{worst.value:.0f} ({worst.where})", worst.value <= limit)


def faster_than_peer(peers: Sequence[Mapping[str, Any]], limit: float) -> Verdict:
    """The row of the comparison with Airflow on mixed limits and the large backlog.

    Of a row count ``peer``, ``workload``, ``scheduled`` (rows), ``times_faster`` (a pass of the peer's by a pass of
    selectq), ``fills_batch`` (whether selectq's pass was full), ``max_tis``, and ``started`` of ``theirs``.
    """
    name = f"against Airflow's pass, {LARGE:,}, mixed limits"
    target = f"at least {limit:g} times faster; the batch filled where Airflow's is not"
    row = next((row for row in peers if (row["peer"], row["workload"], row["scheduled"]) == PEER), None)
    if row is None:
        return Verdict(name, target, "not measured", None)
    times, filled, theirs = float(row["times_faster"]), row["fills_batch"], row["theirs"]["started"]
    said = f"{times:.0f} times; batch {'filled' if filled else 'not filled'}, Airflow's {theirs} of {row['max_tis']}"
    return Verdict(name, target, said, times >= limit and filled and theirs < row["max_tis"])


def exact(results: Results) -> Verdict:
    wrong = [point for point in results.points if point.wrong is not None]
    name, target = "every result equals the straight walk's", "all"
    if wrong:
        said = "; ".join(f"{place_in_words(point.place)}: {point.wrong}" for point in wrong)
        return Verdict(name, target, said, False)
    number = len(results.points)
    said = f"all repetitions at {number} {'point' if number == 1 else 'points'}" if number else "not measured"
    return Verdict(name, target, said, True if number else None)


def repetitions(results: Results) -> Verdict:
    least = min((len(point.measured.whole.runs) for point in good(results) if point.measured), default=None)
    said = "not measured" if least is None else f"{least} at least"
    return Verdict("repetitions", f"at least {LEAST_RUNS}", said, None if least is None else least >= LEAST_RUNS)


def at_most(measure: str, limit: float, found: Sequence[Figure]) -> Verdict:
    """The largest of the figures against the limit."""
    target = f"at most {limit:g} times"
    if not found:
        return Verdict(measure, target, "not measured", None)
    worst = max(found, key=lambda figure: figure.value)
    return Verdict(measure, target, f"{worst.value:.2f} ({worst.where})", worst.value <= limit)


def good(results: Results) -> list[Point]:
    """Points whose results were right."""
    return [point for point in results.points if point.wrong is None]


def history_of(place: Place) -> str:
    return f"{place.history:,} of history" if place.history else "no history"


def place_in_words(place: Place) -> str:
    return f"{place.workload}, {place.rows:,}, {history_of(place)}"
