"""``make bench-upstream``: what deciding costs as runs and mapped instances grow, and beside Airflow's evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

from benchmarks import conditions
from benchmarks.servers import ENGINES, chosen_engines, given_urls, servers_for
from benchmarks.upstream.beside_airflow import beside
from benchmarks.upstream.results import Beside, Growth, UpstreamResults
from benchmarks.upstream.scale import Load, growth
from benchmarks.upstream.summary import markdown
from benchmarks.upstream.workloads import ALL_RULES, MIXED, load_mapped, load_runs
from selectq.cli.exits import plain_exits
from tests.servers.running import version

PARTS = ("growth", "airflow")
DAGS = 10
MOST_BY_RUNS = 12.0
"""Ten times as many runs may cost this many times as much."""
MOST_BY_INSTANCES = 3.0
"""And a hundred times as many instances of one upstream."""
FOLDER = click.Path(file_okay=False, path_type=Path)
ROOT = Path(__file__).parents[2]


@click.command()
@click.option("--engine", "engines", multiple=True, type=click.Choice(ENGINES), help="Only this one; default: both.")
@click.option("--only", "parts", multiple=True, type=click.Choice(PARTS), help="Only this part; default: both.")
@click.option("--runs", type=click.IntRange(100), default=1_000, show_default=True, help="Most; the fewest: a tenth.")
@click.option(
    "--instances", type=click.IntRange(100), default=10_000, show_default=True, help="Most; the fewest: a hundredth."
)
@click.option("--repetitions", type=click.IntRange(1), default=7, show_default=True)
@click.option("--url-postgresql", metavar="URL", help="A running server, instead of one started for the run.")
@click.option("--url-mysql", metavar="URL", help="Likewise.")
@click.option("--results", "folder", type=FOLDER, default=ROOT / "benchmarks" / "results", help="Where results go.")
def main(
    engines: tuple[str, ...],
    parts: tuple[str, ...],
    runs: int,
    instances: int,
    repetitions: int,
    url_postgresql: str | None,
    url_mysql: str | None,
    folder: Path,
) -> None:
    """Decide runs of 100 tasks, and one run with many tasks behind a mapped one; write a file of results per engine."""
    chosen = chosen_engines(engines)
    with plain_exits(), servers_for(chosen, given_urls(url_postgresql, url_mysql)) as urls:
        for engine in chosen:
            url = urls[engine]
            found = UpstreamResults(engine, version(url), conditions.today(), conditions.cores())
            say(found.server)
            if not parts or "growth" in parts:
                found.growth.extend(grown(url, runs, instances, repetitions))
            if not parts or "airflow" in parts:
                found.beside.extend(with_airflow(url, runs // 10, instances // 10, repetitions))
            path = found.write(folder).with_suffix(".md")
            path.write_text(markdown(found), encoding="utf-8")
            click.echo(markdown(found))


def grown(url: str, runs: int, instances: int, repetitions: int) -> Iterator[Growth]:
    few, many = (partial(load_runs, dags=DAGS, runs=number // DAGS) for number in (runs // 10, runs))
    what = f"{runs // 10:,} against {runs:,} runs of 100 tasks"
    say(what)
    yield growth(url, what, few, many, MOST_BY_RUNS, repetitions)
    few, many = (partial(load_mapped, instances=number) for number in (instances // 100, instances))
    what = f"1,000 tasks behind {instances // 100:,} against {instances:,} mapped instances"
    say(what)
    yield growth(url, what, few, many, MOST_BY_INSTANCES, repetitions)


def with_airflow(url: str, runs: int, instances: int, repetitions: int) -> Iterator[Beside]:
    some = partial(load_runs, dags=DAGS, runs=runs // DAGS)
    workloads: dict[str, Load] = {
        f"{runs:,} of 100 tasks, all well": some,
        f"{runs:,} of 100 tasks, all rules and outcomes": partial(some, rules=ALL_RULES, outcomes=MIXED),
        f"1, 100 tasks behind {instances:,} mapped instances": partial(
            load_mapped, instances=instances, downstreams=100
        ),
    }
    for what, load in workloads.items():
        say(what)
        yield beside(url, what, load, repetitions, say)


def say(what: str) -> None:
    click.echo(f"  {what}", err=True)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.upstream")
