"""From workloads to rows of results, and from these to files."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click
import sqlalchemy as sa

from benchmarks import conditions
from benchmarks.peers import passes, plot, results
from benchmarks.peers.airflow import airflow
from benchmarks.peers.claims import LIBRARIES, library
from benchmarks.peers.results import PeerResults, Row
from benchmarks.peers.summary import AIRFLOW, markdown
from benchmarks.workloads import Workload
from selectq.scratch import scratch_database


@dataclass(frozen=True)
class How:
    """``runs``: repetitions that count, at most; ``passes``: in a row, at most; ``seconds``: for either."""

    max_tis: int
    runs: int
    passes: int
    seconds: float


def begun(engine: str, server: str, folder: Path) -> PeerResults:
    """Results to add to: those of an earlier run on the same day, if it was on the same server version."""
    fresh = PeerResults(engine, server, conditions.today(), conditions.cores())
    path = fresh.file_in(folder)
    if path.exists() and (earlier := results.read(path)).server == server:
        return replace(fresh, rows=earlier.rows)
    return fresh


def with_airflow(url: str, workloads: Sequence[Workload], how: How) -> Iterator[Row]:
    for workload in workloads:
        with loaded(url, workload) as ours, airflow(url, ours, say) as peer:
            started = time.perf_counter()
            theirs, own, missed = passes.rolled_back(ours, peer, how.max_tis, how.runs, how.seconds)
            say(f"single passes: {time.perf_counter() - started:.0f} s")
            row = row_of(AIRFLOW, peer.ask("version"), workload, how, theirs, own)
            yield row
            if how.passes:
                yield replace(row, repeated=passes.repeated(ours, peer, how.max_tis, how.passes, how.seconds, missed))


def with_libraries(url: str, names: Collection[str], workloads: Sequence[Workload], how: How) -> Iterator[Row]:
    for workload in workloads:
        able = [name for name, one in LIBRARIES.items() if name in names and workload.name in one.parts]
        if not able:
            continue
        with loaded(url, workload) as ours:
            for name in able:
                say(f"{name}: loading and measuring")
                with library(name, url, ours, workload.name) as peer:
                    theirs, own = passes.committed(ours, peer, how.max_tis, how.runs, how.seconds)
                    yield row_of(name, peer.ask("version"), workload, how, theirs, own)


def row_of(name: str, version: str, workload: Workload, how: How, theirs: results.Side, own: results.Side) -> Row:
    return Row(name, version, workload.name, workload.rows, workload.seed, how.max_tis, theirs, own)


@contextmanager
def loaded(url: str, workload: Workload) -> Iterator[sa.Engine]:
    with scratch_database(url) as ours:
        say(f"{workload.name}, {workload.rows:,} rows: loading")
        workload.load(ours)
        yield ours


def say(what: str) -> None:
    click.echo(f"  {what}", err=True)


def report(found: PeerResults, folder: Path, images: Path) -> Path:
    """Write the JSON file, the Markdown beside it and the plot; the Markdown file."""
    path = found.write(folder).with_suffix(".md")
    link = None
    if plot.drawable(found):
        image = images / f"peers-started-{found.engine}.svg"
        plot.draw(found, image)
        link = Path(os.path.relpath(image, folder)).as_posix()
    path.write_text(markdown(found, link), encoding="utf-8")
    return path
