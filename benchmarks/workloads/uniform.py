"""No hot spots: what other workloads are compared with."""

from __future__ import annotations

from typing import ClassVar

from benchmarks.workloads.grid import Grid


class Uniform(Grid):
    """The plain grid: at a million rows 1,000 dags with 10 runs each."""

    name: ClassVar[str] = "uniform"
