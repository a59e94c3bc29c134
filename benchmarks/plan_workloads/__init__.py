"""Data that plans are checked on, for each area of queries."""

from __future__ import annotations

from benchmarks.plan_workloads.decisions import BehindMapped, ManyRuns
from benchmarks.plan_workloads.folders import FilesDue, FilesWait
from benchmarks.workloads.floods import Floods
from benchmarks.workloads.uniform import Uniform

WORKLOADS = (Uniform, Floods, ManyRuns, BehindMapped, FilesDue, FilesWait)
