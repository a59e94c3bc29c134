"""The results of an engine as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks import conditions
from benchmarks.peers.claims import LIBRARIES
from benchmarks.peers.results import COMMAND, Passes, PeerResults, Row, Side
from benchmarks.report import count

AIRFLOW = "airflow"
SINGLE = (
    "workload",
    "scheduled",
    "Airflow",
    "selectq",
    "times faster",
    "started, Airflow",
    "could have been, too",
    "started, selectq",
    "statements",
    "rows fetched",
)
REPEATED = (
    "workload",
    "scheduled",
    "passes",
    "started, Airflow",
    "started, selectq",
    "missed in pass 1",
    "first of them, Airflow",
    "all of them, Airflow",
    "all of them, selectq",
)
CLAIMED = (
    "library",
    "part",
    "scheduled",
    "library's claim",
    "selectq's",
    "ratio",
    "claimed",
    "of these in order",
    "could have been, too",
    "holders over their limit",
    "claimed, selectq",
    "statements",
)


def markdown(results: PeerResults, image: str | None) -> str:
    """All tables of the engine; ``image``: where the plot is, seen from the file."""
    airflow = [row for row in results.rows if row.peer == AIRFLOW]
    libraries = [row for row in results.rows if row.peer != AIRFLOW]
    lines = [
        f"# Peers on {results.server}",
        "",
        f"`{COMMAND}`, {results.date.isoformat()}, {conditions.in_words(results.cores)}. Times are medians in",
        "milliseconds, with the lowest and the highest. Both sides of a row: same rows, same server, in turns.",
    ]
    if airflow:
        lines += [
            "",
            f"## Apache Airflow {'/'.join(sorted({row.version for row in airflow}))}",
            "One pass, rolled back. Statements and rows fetched: Airflow / selectq.",
            "",
            *table(SINGLE, map(single, airflow)),
        ]
        repeated = [line for row in airflow for line in repeated_line(row)]
        if repeated:
            lines += [
                "",
                "Passes one after the other, each committed; what one starts is done before the next.",
                "",
                *table(REPEATED, repeated),
            ]
        if image:
            lines += ["", f"![Task instances started in each pass]({image})"]
    if libraries:
        lines += [
            "",
            "## Claim libraries",
            "One claim of a batch, committed. Statements: the library / selectq.",
            "",
            *table(CLAIMED, map(claimed, libraries)),
            "",
            *(f"- {name}: {LIBRARIES[name].how}" for name in sorted({row.peer for row in libraries})),
        ]
    return "\n".join(lines) + "\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table; all but its first column stand at the right."""
    rule = ["---", *("---:" for _ in headings[1:])]
    return [f"| {' | '.join(line)} |" for line in (headings, rule, *rows)]


def single(row: Row) -> list[str]:
    return [
        row.workload,
        count(row.scheduled),
        span(row.theirs),
        span(row.selectq),
        f"{row.times_faster:.0f}",
        f"{row.theirs.started} of {row.max_tis}",
        str(row.theirs.missed),
        f"{row.selectq.started} of {row.max_tis}",
        f"{row.theirs.statements} / {row.selectq.statements}",
        f"{count(row.theirs.rows_fetched)} / {count(row.selectq.rows_fetched)}",
    ]


def repeated_line(row: Row) -> list[list[str]]:
    """One line, or none if there were no repeated passes."""
    if row.repeated is None:
        return []
    theirs, ours = row.repeated.theirs, row.repeated.selectq
    return [
        [
            row.workload,
            count(row.scheduled),
            count(len(theirs.started)),
            in_all(theirs),
            in_all(ours),
            count(row.repeated.missed),
            in_pass(theirs.first, theirs, row.repeated.missed),
            in_pass(theirs.all, theirs, row.repeated.missed),
            in_pass(ours.all, ours, row.repeated.missed),
        ]
    ]


def in_all(passes: Passes) -> str:
    """In all passes, and in the first and the last."""
    return f"{sum(passes.started):,} ({passes.started[0]} to {passes.started[-1]})"


def in_pass(number: int | None, passes: Passes, missed: int) -> str:
    if not missed:
        return "-"
    return f"not in {len(passes.started):,}" if number is None else f"pass {number:,}"


def claimed(row: Row) -> list[str]:
    return [
        f"{row.peer} {row.version}",
        row.workload,
        count(row.scheduled),
        span(row.theirs),
        span(row.selectq),
        f"{row.times_faster:.1f}",
        f"{row.theirs.started} of {row.max_tis}",
        str(row.theirs.exact),
        str(row.theirs.missed),
        str(row.theirs.over),
        f"{row.selectq.started} of {row.max_tis}",
        f"{row.theirs.statements} / {row.selectq.statements}",
    ]


def span(side: Side) -> str:
    lowest, highest = min(side.milliseconds), max(side.milliseconds)
    return f"{side.median:,.0f} ({lowest:,.0f}-{highest:,.0f})"
