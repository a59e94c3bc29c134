"""The results of all engines as Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import conditions
from benchmarks.report import count
from benchmarks.results import Point, Results
from benchmarks.targets import Verdict, bound_of_reads
from benchmarks.timing import Times

PASSED = {True: "pass", False: "**fail**", None: "-"}
TARGETS = ("measure", "target", "found", "")
FIGURES = (
    "workload",
    "scheduled",
    "history",
    "started",
    "select + claim",
    "bare UPDATE",
    "ratio",
    "select",
    "why, blocked",
    "why, deep",
    "round trips",
    "reads",
    "bound",
)


def markdown(engines: Sequence[tuple[Results, Sequence[Verdict]]], images: dict[str, str]) -> str:
    """A section for each engine.

    Args:
        images: engine -> where its plot is, seen from the Markdown file.
    """
    lines = ["# Results of `make bench`", "", "Times are medians in milliseconds, with the lowest and the highest."]
    for results, found in engines:
        lines += [
            "",
            f"## {results.server}",
            f"{results.date.isoformat()}, {conditions.in_words(results.cores)}, batch of {results.max_tis}.",
            "",
            *table(TARGETS, (verdict_row(verdict) for verdict in found)),
            "",
            f"![Select + claim against backlog]({images[results.engine]})",
            "",
            *table(FIGURES, (figure_row(results, point) for point in in_order(results)), right=len(FIGURES) - 1),
        ]
    return "\n".join(lines) + "\n"


def table(headings: Sequence[str], rows: Iterator[Sequence[str]], right: int = 0) -> list[str]:
    """Lines of a table; its last ``right`` columns stand at the right."""
    rule = ["---"] * (len(headings) - right) + ["---:"] * right
    return [f"| {' | '.join(line)} |" for line in (headings, rule, *rows)]


def verdict_row(verdict: Verdict) -> list[str]:
    return [verdict.measure, verdict.target, verdict.found, PASSED[verdict.passed]]


def in_order(results: Results) -> list[Point]:
    places = {point.place.workload: at for at, point in reversed(list(enumerate(results.points)))}
    return sorted(results.points, key=lambda p: (places[p.place.workload], p.place.history, p.place.rows))


def figure_row(results: Results, point: Point) -> list[str]:
    place = [point.place.workload, f"{point.place.rows:,}", f"{point.place.history:,}"]
    measured, explained = point.measured, point.explained
    if measured is None:
        return [*place, "wrong", *["-"] * (len(FIGURES) - 4)]
    return [
        *place,
        count(measured.claimed),
        span(measured.whole),
        span(measured.update),
        f"{measured.ratio:.1f}",
        span(measured.select),
        span(explained.blocked if explained else None),
        span(explained.deep if explained else None),
        count(measured.statements),
        count(measured.reads_of_pass),
        count(bound_of_reads(results.max_tis, measured.holders)),
    ]


def span(times: Times | None) -> str:
    return f"{times.median:.0f} ({min(times.runs):.0f}-{max(times.runs):.0f})" if times else "-"


def seen_from(folder: Path, file: Path) -> str:
    """A relative link."""
    return Path(os.path.relpath(file, folder)).as_posix()
