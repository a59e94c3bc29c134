"""Data to measure on: made by the database itself, the same rows on every engine for the same seed."""

from __future__ import annotations

from benchmarks.workloads.base import ROWS_STEP, Progress, Workload, WorkloadOptionError
from benchmarks.workloads.flood import Flood
from benchmarks.workloads.floods import Floods
from benchmarks.workloads.pools import Cross, HotPool, ManyPools, Wide
from benchmarks.workloads.priorities import AllPriorities, OnePriority
from benchmarks.workloads.run_limits import RunLimits
from benchmarks.workloads.uniform import Uniform

__all__ = [
    "ROWS_STEP",
    "WORKLOADS",
    "Progress",
    "Uniform",
    "Workload",
    "WorkloadOptionError",
]

WORKLOADS: dict[str, type[Workload]] = {
    kind.name: kind
    for kind in (
        Uniform,
        HotPool,
        Flood,
        Floods,
        RunLimits,
        Cross,
        Wide,
        ManyPools,
        OnePriority,
        AllPriorities,
    )
}
"""By name: ``WORKLOADS["floods"](rows=100_000, seed=1, history=0)``."""
