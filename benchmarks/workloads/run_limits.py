"""Every run has one place left."""

from __future__ import annotations

from typing import ClassVar

from benchmarks.bulk import Words
from benchmarks.workloads.grid import Grid

RUNS = 1000


class RunLimits(Grid):
    """1,000 runs with 15 of 16 places taken; the larger the backlog, the more waits in each.

    So what is active is the same 15,000 rows whatever the backlog, and each run starts one task instance.
    """

    name: ClassVar[str] = "run-limits"
    limited_tasks: ClassVar[int] = 0
    started_tasks: ClassVar[int] = 15
    active_states: ClassVar[str] = "CASE {} WHEN 0 THEN 'queued' ELSE 'running' END"

    @property
    def tasks_per_run(self) -> int:
        return self.rows // RUNS

    def is_active(self, words: Words) -> str:
        return "1 = 1"
