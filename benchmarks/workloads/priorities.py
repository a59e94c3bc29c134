"""The two ends: every row of the same weight, and no two rows of the same weight."""

from __future__ import annotations

from math import gcd
from typing import ClassVar

from benchmarks.bulk import Words
from benchmarks.workloads.grid import Grid


class OnePriority(Grid):
    """All weights are 1: only dates and names tell rows apart."""

    name: ClassVar[str] = "one-priority"
    priorities: ClassVar[int] = 1


class AllPriorities(Grid):
    """The weights of what waits are the numbers from 1 to ``rows``, each once, strewn over all runs."""

    name: ClassVar[str] = "all-priorities"

    def weight(self, words: Words) -> str:
        run = f"{words.number('r.dag_id')} * {self.runs_per_dag} + {words.number('r.run_id')}"
        instance = f"({run}) * {self.tasks_per_run} + {words.number('t.task_id')}"
        # Steps of about a golden section of the whole put neighbours far apart; prime to it, they meet each number.
        step = next(n for n in range(self.rows * 618 // 1000, self.rows + 1) if gcd(n, self.rows) == 1)
        return f"1 + (({instance}) * {step} + {self.seed}) % {self.rows}"
