"""``make bench-quick``: select + claim of 512 against a bare UPDATE of the same rows, on both engines."""

from __future__ import annotations

import json
from pathlib import Path

import click

from benchmarks.measure import Measured, measure
from benchmarks.report import Report, update_readme
from benchmarks.servers import ENGINES, chosen_engines, given_urls, servers_for
from benchmarks.workloads import ROWS_STEP, Uniform, Workload, WorkloadOptionError
from selectq.cli.exits import plain_exits
from selectq.cli.output import print_table
from selectq.scratch import scratch_database
from tests.servers.running import version

JSON_FILE = click.Path(dir_okay=False, writable=True, path_type=Path)
README = Path(__file__).parent.parent / "README.md"


@click.command()
@click.option("--engine", "engines", multiple=True, type=click.Choice(ENGINES), help="Only this one; default: both.")
@click.option("--rows", default=100_000, show_default=True, help=f"Scheduled rows, a multiple of {ROWS_STEP:,}.")
@click.option("--runs", type=click.IntRange(1), default=9, show_default=True, help="Repetitions that count.")
@click.option("--url-postgresql", metavar="URL", help="A running server, instead of one started for the run.")
@click.option("--url-mysql", metavar="URL", help="Likewise.")
@click.option("--json", "json_file", type=JSON_FILE, metavar="FILE", help="Write all figures here, in milliseconds.")
@click.option("--markdown", is_flag=True, help="Print Markdown instead of a table.")
@click.option("--update-readme", "to_readme", is_flag=True, help="Put the table into README.md.")
def main(
    engines: tuple[str, ...],
    rows: int,
    runs: int,
    url_postgresql: str | None,
    url_mysql: str | None,
    json_file: Path | None,
    markdown: bool,
    to_readme: bool,
) -> None:
    """Measure a pass on a uniform backlog; see benchmarks/README.md."""
    try:
        workload = Uniform(rows)
    except WorkloadOptionError as error:
        raise click.BadParameter(str(error), param_hint="--rows") from None
    with plain_exits():
        report = run(workload, chosen_engines(engines), given_urls(url_postgresql, url_mysql), runs)
        if markdown:
            click.echo(report.markdown())
        else:
            print_table(report.headings, report.rows, right=report.headings[1:])
        click.echo(f"\n{report.conditions}")
        if json_file:
            json_file.write_text(json.dumps(report.as_json(), indent=2) + "\n", encoding="utf-8")
        if to_readme:
            update_readme(README, report)


def run(workload: Workload, engines: list[str], given: dict[str, str], runs: int) -> Report:
    """Load and measure on each engine in turn."""
    servers: dict[str, str] = {}
    measured: dict[str, Measured] = {}
    with servers_for(engines, given) as urls:
        for engine in engines:
            servers[engine] = version(urls[engine])
            with scratch_database(urls[engine]) as database:
                click.echo(f"{servers[engine]}: loading {workload.rows:,} scheduled rows", err=True)
                workload.load(database)
                click.echo(f"{servers[engine]}: measuring", err=True)
                measured[engine] = measure(database, runs=runs)
    return Report.of_now(workload, servers, measured)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.quick")
