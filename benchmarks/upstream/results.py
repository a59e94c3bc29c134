"""What was found on one engine, as a JSON file."""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from benchmarks import result_file

COMMAND = "make bench-upstream"


@dataclass(frozen=True)
class Decided:
    """Deciding all runs of a workload in one call, time and again.

    Attributes:
        milliseconds: of each call that counts.
        decisions: in the answer, those that wait included.
        instances: task instances in the runs.
        rows_read: of tables and indexes.
    """

    milliseconds: tuple[float, ...]
    decisions: int
    instances: int
    rows_read: int

    @property
    def reads_per_instance(self) -> float:
        return self.rows_read / self.instances


@dataclass(frozen=True)
class Growth:
    """The same with few and with many of something; ``most``: what the ratio of the medians is to stay under."""

    what: str
    few: Decided
    many: Decided
    most: float

    @property
    def ratio(self) -> float:
        return median(self.many.milliseconds) / median(self.few.milliseconds)


@dataclass(frozen=True)
class Evaluated:
    """Which task instances may be scheduled now, found time and again.

    Attributes:
        milliseconds: of each evaluation of all runs.
        statements: sent by one.
        rows: that came back from the server.
    """

    milliseconds: tuple[float, ...]
    statements: int
    rows: int


@dataclass(frozen=True)
class Beside:
    """Airflow and selectq on the same runs; both found the same ``ready`` task instances."""

    what: str
    version: str
    runs: int
    instances: int
    undecided: int
    ready: int
    airflow: Evaluated
    selectq: Evaluated

    @property
    def times_faster(self) -> float:
        return median(self.airflow.milliseconds) / median(self.selectq.milliseconds)


@dataclass(frozen=True)
class UpstreamResults:
    """All of one engine; times in milliseconds."""

    engine: str
    server: str
    date: datetime.date
    cores: int
    growth: list[Growth] = field(default_factory=list)
    beside: list[Beside] = field(default_factory=list)

    def write(self, folder: Path) -> Path:
        return result_file.write(
            folder / f"{self.date.isoformat()}-upstream-{self.engine}.json",
            COMMAND,
            self.engine,
            self.server,
            self.date,
            self.cores,
            growth=[{**asdict(row), "ratio": row.ratio} for row in self.growth],
            beside=[{**asdict(row), "times_faster": row.times_faster} for row in self.beside],
        )
