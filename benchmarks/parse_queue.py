"""What a call of the parse queue costs as the folder grows: enqueue, claim and finish on 100 to 100,000 files.

``python -m benchmarks.parse_queue --url postgresql://... --url mysql://...`` works in schemas or databases of its own,
and drops them afterwards.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import click
import sqlalchemy as sa

from benchmarks.reads import Statement, recorded, replay
from selectq.cli.exits import plain_exits
from selectq.cli.output import print_table
from selectq.database import NAMES
from selectq.demo.counting import Traffic, count_traffic
from selectq.parsing import Arrival, ClaimedFile, FoundFile, ParseQueue, Settings, statements
from selectq.scratch import scratch_database

SIZES = (100, 1_000, 10_000, 100_000)
CALLS = ("enqueue", "claim", "finish")
OLD = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
CALLBACK_FOR_EVERY = 10
"""One file in so many has a callback that waits; every file waits in the standard lane."""


@dataclass
class Folder:
    """A queue of ``size`` files, all of which wait."""

    size: int
    queue: ParseQueue
    times: dict[str, list[float]] = field(default_factory=lambda: {call: [] for call in CALLS})
    statements: dict[str, set[int]] = field(default_factory=lambda: {call: set() for call in CALLS})
    reads: dict[str, int] = field(default_factory=dict)
    scan_seconds: float = 0
    turn: int = 0

    def load(self) -> None:
        began = time.perf_counter()
        self.queue.scan("b", [FoundFile(path(number), OLD) for number in range(self.size)])
        self.scan_seconds = time.perf_counter() - began
        numbers = range(0, self.size, CALLBACK_FOR_EVERY)
        self.queue.enqueue([Arrival("b", path(number), "dag_callback", number) for number in numbers])

    def run(self) -> None:
        """Each call once: a callback for another file each time; the next file is claimed and finished."""
        self.turn += 1
        arrival = Arrival("b", path(self.turn * 7919 % self.size), "dag_callback", {"run": self.turn})
        self.timed("enqueue", lambda: self.queue.enqueue([arrival]))
        claimed: list[ClaimedFile] = []
        self.timed("claim", lambda: claimed.extend(self.queue.claim(1)))
        [file] = claimed
        self.timed("finish", lambda: self.queue.finish(file, dag_ids=["d"]))
        # Parsed files wait again, so that all sizes keep what they have.
        self.queue.enqueue([Arrival("b", file.path, "sla_callback")])

    def timed(self, call: str, work: Callable[[], object]) -> None:
        traffic = Traffic()
        with count_traffic(self.queue.engine, traffic):
            began = time.perf_counter()
            work()
            self.times[call].append(1000 * (time.perf_counter() - began))
        self.statements[call].add(traffic.statements)

    def count_reads(self) -> None:
        """Rows that the server reads for each call."""
        with self.queue.engine.connect() as connection:
            arrival = Arrival("b", path(3), "dag_callback", 1)
            with recorded(self.queue.engine) as sent:
                statements.enqueue(connection, [arrival])
            self.reads["enqueue"] = self.read_again(connection, sent)
            with recorded(self.queue.engine) as sent:
                [file] = statements.claim(connection, 1, self.queue.settings)
            self.reads["claim"] = self.read_again(connection, sent)
            connection.rollback()
            [file] = self.queue.claim(1)
            with recorded(self.queue.engine) as sent:
                statements.finish(connection, file)
            self.reads["finish"] = self.read_again(connection, sent)

    def read_again(self, connection: sa.Connection, sent: list[Statement]) -> int:
        connection.rollback()
        reads = sum(each.rows for each in replay(connection, sent))
        connection.rollback()
        return reads


def path(number: int) -> str:
    return f"folder_{number % 97:02}/dag_{number:06}.py"


@click.command()
@click.option("--url", "urls", multiple=True, required=True, help="A server; repeatable.")
@click.option("--runs", type=click.IntRange(3), default=60, show_default=True, help="Repetitions that count.")
@click.option("--largest", type=int, default=SIZES[-1], show_default=True, help="Leave larger folders out.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all figures here, in milliseconds.")
def main(urls: Sequence[str], runs: int, largest: int, json_file: Path | None) -> None:
    """Measure the calls of the parse queue on folders of several sizes, in turns."""
    with plain_exits():
        found = [measured for url in urls for measured in measure(url, runs, largest)]
    columns = ("engine", "files", *(f"{call} ms" for call in CALLS), *(f"rows {call}" for call in CALLS), "scan s")
    print_table(columns, [row for row, _ in found])
    if json_file:
        json_file.write_text(json.dumps([figures for _, figures in found], indent=2) + "\n", encoding="utf-8")


def measure(url: str, runs: int, largest: int) -> Iterator[tuple[list[object], dict[str, object]]]:
    with ExitStack() as stack:
        folders = []
        for size in (size for size in SIZES if size <= largest):
            queue = ParseQueue(stack.enter_context(scratch_database(url)), Settings(callback_share=0.5))
            folders.append(Folder(size, queue))
            folders[-1].load()
            refresh_statistics(queue.engine)
        for _ in range(5):
            for folder in folders:
                folder.run()
        for folder in folders:
            folder.times = {call: [] for call in CALLS}
        for turn in range(runs):
            # Each size goes first in its turn.
            for folder in folders[turn % len(folders) :] + folders[: turn % len(folders)]:
                folder.run()
        for folder in folders:
            folder.count_reads()
            name = NAMES[folder.queue.engine.dialect.name]
            medians = {call: median(folder.times[call]) for call in CALLS}
            row = [name, folder.size, *(round(medians[call], 2) for call in CALLS)]
            row += [folder.reads[call] for call in CALLS]
            yield (
                [*row, round(folder.scan_seconds, 2)],
                {
                    "engine": name,
                    "files": folder.size,
                    "medians": medians,
                    "times": folder.times,
                    "statements": {call: sorted(counts) for call, counts in folder.statements.items()},
                    "reads": folder.reads,
                    "scan_seconds": folder.scan_seconds,
                },
            )


def refresh_statistics(engine: sa.Engine) -> None:
    command = "ANALYZE TABLE" if engine.dialect.name == "mysql" else "VACUUM ANALYZE"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text(f"{command} dag_file, parse_request, parse_payload, parse_state"))


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.parse_queue")
