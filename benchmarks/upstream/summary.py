"""The results of an engine as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks import conditions
from benchmarks.peers.summary import table
from benchmarks.upstream.results import COMMAND, Beside, Growth, UpstreamResults

MOST_READS = 3
"""Rows read for each task instance of the runs."""
TIMES_FASTER = 20
GROWTH = ("few against many", "few, ms", "many, ms", "ratio", "at most", "rows read / task instance")
BESIDE = (
    "runs",
    "task instances",
    "not scheduled yet",
    "ready",
    "Airflow, ms",
    "selectq, ms",
    "times faster",
    "statements",
    "rows fetched",
)


def markdown(results: UpstreamResults) -> str:
    lines = [
        f"# Trigger rules on {results.server}",
        "",
        f"`{COMMAND}`, {results.date.isoformat()}, {conditions.in_words(results.cores)}. Times are medians in",
        "milliseconds, with the lowest and the highest; both sides of a row in turns.",
    ]
    if results.growth:
        lines += ["", "## As it grows", *growth_table(results.growth)]
    if results.beside:
        versions = "/".join(sorted({row.version for row in results.beside}))
        lines += [
            "",
            f"## Beside Apache Airflow {versions}",
            "Both find the same task instances ready. Statements and rows fetched: Airflow / selectq.",
            *beside_table(results.beside),
        ]
    return "\n".join(lines) + "\n"


def growth_table(rows: Sequence[Growth]) -> Iterator[str]:
    yield ""
    yield from table(GROWTH, (growth_line(row) for row in rows))
    yield ""
    yield f"Rows read are to be at most {MOST_READS} for each task instance."


def growth_line(row: Growth) -> list[str]:
    return [
        row.what,
        span(row.few.milliseconds),
        span(row.many.milliseconds),
        f"{row.ratio:.1f}",
        f"{row.most:g}",
        f"{row.many.reads_per_instance:.2f}",
    ]


def beside_table(rows: Sequence[Beside]) -> Iterator[str]:
    yield ""
    yield from table(BESIDE, (beside_line(row) for row in rows))
    yield ""
    yield f"It is to be at least {TIMES_FASTER} times faster."


def beside_line(row: Beside) -> list[str]:
    return [
        row.what,
        f"{row.instances:,}",
        f"{row.undecided:,}",
        f"{row.ready:,}",
        span(row.airflow.milliseconds),
        span(row.selectq.milliseconds),
        f"{row.times_faster:.0f}",
        f"{row.airflow.statements:,} / {row.selectq.statements:,}",
        f"{row.airflow.rows:,} / {row.selectq.rows:,}",
    ]


def span(milliseconds: Sequence[float]) -> str:
    return f"{median(milliseconds):,.0f} ({min(milliseconds):,.0f}-{max(milliseconds):,.0f})"
