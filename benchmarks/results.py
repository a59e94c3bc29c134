"""What a full benchmark found on one engine, as a JSON file that is rewritten after each point."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import result_file
from benchmarks.measure import Explained, Measured
from benchmarks.reads import Reads
from benchmarks.timing import Times


@dataclass(frozen=True)
class Place:
    """What was loaded."""

    workload: str
    rows: int
    history: int


@dataclass(frozen=True)
class Point:
    """One workload of one size, measured; or the message of the wrong result that ended it."""

    place: Place
    seed: int
    load_seconds: float
    measured: Measured | None = None
    explained: Explained | None = None
    wrong: str | None = None


@dataclass(frozen=True)
class Results:
    """All points of one engine; times in milliseconds."""

    engine: str
    server: str
    date: datetime.date
    cores: int
    max_tis: int
    points: list[Point] = field(default_factory=list)

    def add(self, point: Point) -> None:
        """In place of an earlier one of the same workload and size."""
        self.points[:] = [other for other in self.points if other.place != point.place] + [point]

    def at(self, workload: str, rows: int, history: int) -> Measured | None:
        """What was measured there."""
        place = Place(workload, rows, history)
        return next((point.measured for point in self.points if point.place == place), None)

    def file_in(self, folder: Path) -> Path:
        return folder / f"{self.date.isoformat()}-{self.engine}.json"

    def write(self, folder: Path) -> Path:
        points = [asdict(point) for point in self.points]
        return result_file.write(
            self.file_in(folder), "make bench", self.engine, self.server, self.date, self.cores,
            max_tis=self.max_tis, points=points,
        )


def read(path: Path) -> Results:
    """A file that ``Results.write`` wrote."""
    found = result_file.read(path)
    return Results(
        **result_file.head_of(found),
        max_tis=found["max_tis"],
        points=[as_point(point) for point in found["points"]],
    )


def as_point(found: Mapping[str, Any]) -> Point:
    measured, explained = found["measured"], found["explained"]
    return Point(
        **{**found, "place": Place(**found["place"])}
        | {
            "measured": measured and as_measured(measured),
            "explained": explained and Explained(**{name: as_times(times) for name, times in explained.items()}),
        }
    )


def as_measured(found: Mapping[str, Any]) -> Measured:
    times = {name: as_times(found[name]) for name in ("whole", "update", "select")}
    return Measured(**{**found, **times, "reads": tuple(Reads(**each) for each in found["reads"])})


def as_times(found: Mapping[str, Any] | None) -> Any:
    return found and Times(tuple(found["runs"]))


def newest(folder: Path, engine: str) -> Path | None:
    """The newest file of the engine; its name begins with the date."""
    return max(folder.glob(f"????-??-??-{engine}.json"), default=None)


def peer_rows(folder: Path, engine: str, date: datetime.date) -> Sequence[Mapping[str, Any]]:
    """What ``make bench-peers`` found on the same engine and day; empty if there is no such file."""
    path = folder / f"{date.isoformat()}-peers-{engine}.json"
    if not path.exists():
        return []
    rows: list[Mapping[str, Any]] = result_file.read(path)["rows"]
    return rows
