"""``make bench``: every workload at every size on both engines, against what must hold."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import sqlalchemy as sa
from rich.console import Console

from benchmarks import check, conditions, plots, results, summary
from benchmarks.measure import WrongResultError, explain, measure
from benchmarks.progress import loading
from benchmarks.results import Place, Point, Results
from benchmarks.servers import ENGINES, chosen_engines, given_urls, servers_for
from benchmarks.targets import verdicts
from benchmarks.workloads import WORKLOADS, Workload, WorkloadOptionError
from selectq.cli.exits import fail, plain_exits
from selectq.cli.output import print_table
from selectq.scratch import scratch_database
from tests.servers.running import version

MAX_TIS = 512
SIZES = (10_000, 100_000, 1_000_000)
HISTORIES = (0, 3_000_000)
ROOT = Path(__file__).parent.parent
FOLDER = click.Path(file_okay=False, path_type=Path)
NUMBER = click.IntRange(0)


@click.command()
@click.option("--engine", "engines", multiple=True, type=click.Choice(ENGINES), help="Only this one; default: both.")
@click.option("--workload", "names", multiple=True, type=click.Choice(list(WORKLOADS)), help="Default: all.")
@click.option("--rows", "sizes", multiple=True, type=NUMBER, default=SIZES, show_default=True, help="Scheduled rows.")
@click.option("--history", "histories", multiple=True, type=NUMBER, default=HISTORIES, show_default=True, help="Rows.")
@click.option("--seed", default=1, show_default=True, help="Of the workloads.")
@click.option("--runs", type=click.IntRange(1), default=7, show_default=True, help="Repetitions that count.")
@click.option("--url-postgresql", metavar="URL", help="A running server, instead of one started for the run.")
@click.option("--url-mysql", metavar="URL", help="Likewise.")
@click.option("--add", is_flag=True, help="Keep what was measured earlier today, but for what is measured again.")
@click.option("--report-only", is_flag=True, help="Measure nothing: report on the newest results.")
@click.option("--results", "folder", type=FOLDER, default=ROOT / "benchmarks" / "results", help="Where results go.")
@click.option("--images", type=FOLDER, default=ROOT / "docs" / "img", help="Where plots go.")
def main(
    engines: tuple[str, ...],
    names: tuple[str, ...],
    sizes: tuple[int, ...],
    histories: tuple[int, ...],
    seed: int,
    runs: int,
    url_postgresql: str | None,
    url_mysql: str | None,
    add: bool,
    report_only: bool,
    folder: Path,
    images: Path,
) -> None:
    """Measure, write results, Markdown and plots, and say which targets are met; see benchmarks/README.md."""
    chosen = chosen_engines(engines)
    try:
        workloads = [
            WORKLOADS[name](rows, seed, history)
            for history in histories
            for name in names or WORKLOADS
            for rows in sizes
        ]
    except WorkloadOptionError as error:
        raise click.UsageError(str(error)) from None
    with plain_exits():
        if not report_only:
            with servers_for(chosen, given_urls(url_postgresql, url_mysql)) as urls:
                for engine in chosen:
                    run(engine, urls[engine], workloads, runs, folder, add)
        found = list(newest(folder, chosen))
        if not found:
            fail(f"no results in {folder}: measure first")
        report(found, folder, images)
        if any(point.wrong for each in found for point in each.points):
            fail("wrong results; see above")


def run(engine: str, url: str, workloads: Sequence[Workload], runs: int, folder: Path, add: bool) -> None:
    """Load and measure one workload after the other; the file holds each as soon as it is done."""
    found = Results(engine, version(url), conditions.today(), conditions.cores(), MAX_TIS)
    if add and found.file_in(folder).exists():
        found.points.extend(results.read(found.file_in(folder)).points)
    console = Console(stderr=True)
    for number, workload in enumerate(workloads, start=1):
        what = f"{found.server}, {number} of {len(workloads)}: {workload.name} {workload.rows:,} + {workload.history:,}"
        with scratch_database(url) as database:
            started = time.perf_counter()
            with loading(console, what) as progress:
                workload.load(database, progress)
            loaded = time.perf_counter() - started
            click.echo(f"{what}: loaded in {loaded:.0f} s, measuring", err=True)
            found.add(point(database, workload, loaded, runs))
        found.write(folder)


def point(database: sa.Engine, workload: Workload, load_seconds: float, runs: int) -> Point:
    """Measure what is loaded; a wrong result is kept as such, and the next workload can go on."""
    place = Place(workload.name, workload.rows, workload.history)
    with database.connect() as connection:
        walk = check.walk(connection, MAX_TIS)
    try:
        measured = measure(database, MAX_TIS, runs, walk=walk)
        explained = explain(database, walk, MAX_TIS, runs)
    except WrongResultError as error:
        return Point(place, workload.seed, load_seconds, wrong=str(error))
    return Point(place, workload.seed, load_seconds, measured, explained)


def newest(folder: Path, engines: Sequence[str]) -> Iterator[Results]:
    for engine in engines:
        if path := results.newest(folder, engine):
            yield results.read(path)


def report(found: Sequence[Results], folder: Path, images: Path) -> None:
    """Write the Markdown and the plots, and print the targets."""
    links, judged = {}, []
    for each in found:
        image = images / f"bench-{each.engine}.svg"
        plots.draw(each, image)
        links[each.engine] = summary.seen_from(folder, image)
        judged.append((each, verdicts(each, list(WORKLOADS), results.peer_rows(folder, each.engine, each.date))))
    path = folder / f"{max(each.date for each in found).isoformat()}.md"
    path.write_text(summary.markdown(judged, links), encoding="utf-8")
    for each, targets in judged:
        print_table(summary.TARGETS, [summary.verdict_row(one) for one in targets], title=each.server)
    click.echo(f"\nAll figures: {path}")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.full")
