"""``make bench-peers``: Airflow's scheduler and some claim libraries beside selectq."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import click

from benchmarks.peers.claims import LIBRARIES
from benchmarks.peers.mixed import Mixed
from benchmarks.peers.parts import PARTS
from benchmarks.peers.run import How, begun, report, with_airflow, with_libraries
from benchmarks.peers.summary import AIRFLOW
from benchmarks.servers import ENGINES, chosen_engines, given_urls, servers_for
from benchmarks.workloads import WORKLOADS, Workload, WorkloadOptionError
from selectq.cli.exits import plain_exits
from tests.servers.running import version

PEERS = (AIRFLOW, *LIBRARIES)
OF_AIRFLOW: dict[str, type[Workload]] = {kind.name: kind for kind in (Mixed, WORKLOADS["uniform"])}
NAMES = (*OF_AIRFLOW, *PARTS)
SIZES = {
    "mixed": (10_000, 100_000, 1_000_000),
    "uniform": (100_000,),
    "pools": (10_000, 100_000, 1_000_000),
    "one-at-a-time": (10_000, 100_000),
}
ROOT = Path(__file__).parents[2]
FOLDER = click.Path(file_okay=False, path_type=Path)
POSITIVE = click.IntRange(1)


@click.command()
@click.option("--engine", "engines", multiple=True, type=click.Choice(ENGINES), help="Only this one; default: both.")
@click.option("--only", "peers", multiple=True, type=click.Choice(PEERS), help="Only this peer; default: all.")
@click.option("--workload", "names", multiple=True, type=click.Choice(NAMES), help="Only this one; default: all.")
@click.option("--rows", "sizes", multiple=True, type=POSITIVE, help="Scheduled rows; default: up to a million.")
@click.option("--seed", default=1, show_default=True, help="Of the workloads.")
@click.option("--max-tis", type=POSITIVE, default=512, show_default=True, help="Batch of a pass.")
@click.option("--runs", type=POSITIVE, default=7, show_default=True, help="Repetitions that count, at most.")
@click.option("--passes", type=click.IntRange(0), default=300, show_default=True, help="Passes in a row, at most.")
@click.option("--seconds", default=180.0, show_default=True, help="For the repetitions, and for the passes in a row.")
@click.option("--url-postgresql", metavar="URL", help="A running server, instead of one started for the run.")
@click.option("--url-mysql", metavar="URL", help="Likewise.")
@click.option("--results", "folder", type=FOLDER, default=ROOT / "benchmarks" / "results", help="Where results go.")
@click.option("--images", type=FOLDER, default=ROOT / "docs" / "img", help="Where plots go.")
def main(
    engines: tuple[str, ...],
    peers: tuple[str, ...],
    names: tuple[str, ...],
    sizes: tuple[int, ...],
    seed: int,
    max_tis: int,
    runs: int,
    passes: int,
    seconds: float,
    url_postgresql: str | None,
    url_mysql: str | None,
    folder: Path,
    images: Path,
) -> None:
    """Measure peers and selectq on the same rows; what was found earlier today stays, but for what is found again."""
    chosen, wanted, asked = chosen_engines(engines), names or NAMES, peers or PEERS
    try:
        of_airflow, of_libraries = (
            [kind(rows, seed) for name, kind in kinds.items() if name in wanted for rows in sizes or SIZES[name]]
            for kinds in (OF_AIRFLOW, PARTS)
        )
    except WorkloadOptionError as error:
        raise click.BadParameter(str(error), param_hint="--rows") from None
    how = How(max_tis, runs, passes, seconds)
    with plain_exits(), servers_for(chosen, given_urls(url_postgresql, url_mysql)) as urls:
        for engine in chosen:
            url = urls[engine]
            found = begun(engine, version(url), folder)
            click.echo(found.server, err=True)
            rows = []
            if AIRFLOW in asked:
                rows.append(with_airflow(url, of_airflow, how))
            if engine == "postgresql":
                rows.append(with_libraries(url, asked, of_libraries, how))
            for row in chain.from_iterable(rows):
                found.add(row)
                click.echo(f"  all figures so far: {report(found, folder, images)}", err=True)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.peers")
