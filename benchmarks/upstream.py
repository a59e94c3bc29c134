"""``make bench-upstream``: what deciding costs as runs, and instances of a mapped upstream, grow, on both engines."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click
import sqlalchemy as sa

from benchmarks.base_reads import base_reads
from benchmarks.quick import ENGINES, servers_for
from benchmarks.upstream_workloads import load_mapped, load_runs
from selectq.cli.exits import plain_exits
from selectq.cli.output import print_table
from selectq.rows import RunKey
from selectq.scratch import scratch_database
from selectq.upstream import decide
from tests.servers.running import version


@dataclass(frozen=True)
class Decided:
    """Milliseconds (median) of deciding, task instances decided and in the runs, rows read of the tables."""

    milliseconds: float
    decisions: int
    instances: int
    rows_read: int


def measured(engine: sa.Engine, runs: Sequence[RunKey], repetitions: int) -> Decided:
    times = []
    with engine.connect() as connection:
        for _ in range(repetitions + 1):
            start = time.perf_counter()
            decisions = decide(connection, runs)
            times.append(1000 * (time.perf_counter() - start))
        instances = connection.scalar(sa.text("SELECT COUNT(*) FROM task_instance"))
        rows_read = base_reads(connection, lambda: decide(connection, runs))
    return Decided(statistics.median(times[1:]), len(decisions), int(instances or 0), rows_read)


def in_scratch(url: str, load: Callable[[sa.Engine], Sequence[RunKey]], repetitions: int) -> Decided:
    with scratch_database(url) as engine:
        return measured(engine, load(engine), repetitions)


@click.command()
@click.option("--engine", "engines", multiple=True, type=click.Choice(ENGINES), help="Only this one; default: both.")
@click.option("--runs", default=1_000, show_default=True, help="Most runs; the fewest are a tenth.")
@click.option("--instances", default=10_000, show_default=True, help="Most instances; the fewest are a hundredth.")
@click.option("--repetitions", default=3, show_default=True)
def main(engines: tuple[str, ...], runs: int, instances: int, repetitions: int) -> None:
    """Decide runs of 100 tasks, and one run with 1,000 tasks behind a mapped one."""
    rows: list[list[object]] = []
    with plain_exits(), servers_for([e for e in ENGINES if e in engines or not engines], {}) as urls:
        for url in urls.values():
            server = version(url)
            few, many = (
                in_scratch(url, lambda engine, n=n: load_runs(engine, 10, n), repetitions)  # type: ignore[misc]
                for n in (runs // 100, runs // 10)
            )
            short, long = (
                in_scratch(url, lambda engine, n=n: load_mapped(engine, n), repetitions)  # type: ignore[misc]
                for n in (instances // 100, instances)
            )
            rows.append(line(server, f"{runs} runs against {runs // 10}", few, many))
            rows.append(line(server, f"{instances} instances against {instances // 100}", short, long))
        print_table(["server", "what", "ms few", "ms many", "ratio", "rows read / task instance"], rows)


def line(server: str, what: str, few: Decided, many: Decided) -> list[object]:
    ratio = round(many.milliseconds / few.milliseconds, 1)
    reads = round(many.rows_read / many.instances, 2)
    return [server, what, round(few.milliseconds, 1), round(many.milliseconds, 1), ratio, reads]


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.upstream")
