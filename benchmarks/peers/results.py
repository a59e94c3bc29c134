"""What was found on one engine, as a JSON file."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import conditions

COMMAND = "make bench-peers"


@dataclass(frozen=True)
class Side:
    """Passes over one backlog, each from the same start.

    Attributes:
        milliseconds: of each pass that counts.
        started: task instances that a pass starts.
        exact: how many of these are among the first that fit, in selectq's total order.
        missed: how many more it could have started, without breaking a limit and within ``max_tis``.
        over: holders that hold more than their limit after it.
        statements: sent by a pass.
        rows_fetched: that came back from the server; None if that was not counted.
    """

    milliseconds: tuple[float, ...]
    started: int
    exact: int
    missed: int
    over: int
    statements: int
    rows_fetched: int | None = None

    @property
    def median(self) -> float:
        return median(self.milliseconds)

    @property
    def per_started(self) -> float:
        """Milliseconds for each task instance that is started."""
        return self.median / max(1, self.started)


@dataclass(frozen=True)
class Passes:
    """Passes one after the other; what a pass has started is done before the next.

    ``first`` and ``all``: the pass in which the first and the last of the missed ones started; None: not in these.
    """

    milliseconds: tuple[float, ...]
    started: tuple[int, ...]
    first: int | None
    all: int | None


@dataclass(frozen=True)
class Repeated:
    """``missed``: task instances that the peer's first pass could have started and did not."""

    missed: int
    theirs: Passes
    selectq: Passes


@dataclass(frozen=True)
class Row:
    """One peer on one workload of one size, beside selectq on the same rows."""

    peer: str
    version: str
    workload: str
    scheduled: int
    seed: int
    max_tis: int
    theirs: Side
    selectq: Side
    repeated: Repeated | None = None

    @property
    def place(self) -> tuple[str, str, int]:
        return self.peer, self.workload, self.scheduled

    @property
    def times_faster(self) -> float:
        """By the medians of whole passes, however many task instances these start."""
        return self.theirs.median / self.selectq.median

    @property
    def fills_batch(self) -> bool:
        return self.selectq.started == self.max_tis

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "times_faster": self.times_faster, "fills_batch": self.fills_batch}


@dataclass(frozen=True)
class PeerResults:
    """All rows of one engine; times in milliseconds."""

    engine: str
    server: str
    date: datetime.date
    cores: int
    rows: list[Row] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """In place of an earlier one of the same peer, workload and size."""
        self.rows[:] = sorted([*(other for other in self.rows if other.place != row.place), row], key=lambda r: r.place)

    def file_in(self, folder: Path) -> Path:
        return folder / f"{self.date.isoformat()}-peers-{self.engine}.json"

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        found = {
            "command": COMMAND,
            "engine": self.engine,
            "server": self.server,
            **conditions.of_run(self.date, self.cores),
            "rows": [row.as_json() for row in self.rows],
        }
        path = self.file_in(folder)
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return path


def read(path: Path) -> PeerResults:
    """A file that ``PeerResults.write`` wrote."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return PeerResults(
        engine=found["engine"],
        server=found["server"],
        date=datetime.date.fromisoformat(found["date"]),
        cores=found["cores"],
        rows=[as_row(row) for row in found["rows"]],
    )


def as_row(found: Mapping[str, Any]) -> Row:
    values = {name: value for name, value in found.items() if name not in ("times_faster", "fills_batch")}
    repeated = found["repeated"]
    values |= {side: Side(**with_tuples(found[side])) for side in ("theirs", "selectq")}
    values["repeated"] = repeated and Repeated(
        repeated["missed"], *(Passes(**with_tuples(repeated[side])) for side in ("theirs", "selectq"))
    )
    return Row(**values)


def with_tuples(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
