"""What all workloads share: their size, and how they get into the tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import sqlalchemy as sa

from benchmarks.bulk import Words
from benchmarks.workloads import past
from selectq.plans.states import Call
from selectq.plans.statistics import refresh_statistics

ROWS_STEP = 1000
TABLES = ("slot_pool", "dag", "task", "dag_run", "task_instance")

Progress = Callable[[int, int], None]
"""Called after each step of a load: steps done, steps in all."""


class WorkloadOptionError(ValueError):
    """A size that the workload does not come in."""


@dataclass(frozen=True)
class Workload(ABC):
    """Rows for all tables; the same ones on every engine for the same options."""

    name: ClassVar[str]
    area: ClassVar[str] = "selection"

    rows: int = 100_000
    """Scheduled task instances: a multiple of 1,000."""
    seed: int = 1
    history: int = 0
    """Finished task instances of older dag runs, in the same tables: a multiple of 100."""

    def __post_init__(self) -> None:
        if self.rows < ROWS_STEP or self.rows % ROWS_STEP:
            raise WorkloadOptionError(f"rows must be a multiple of {ROWS_STEP:,}, not {self.rows:,}")
        if self.history < 0 or self.history % past.TASKS_PER_RUN:
            raise WorkloadOptionError(f"history must be a multiple of {past.TASKS_PER_RUN}, not {self.history:,}")

    @property
    @abstractmethod
    def dags(self) -> int:
        """Dags named ``dag_00000`` and so on, which also have the history."""

    @property
    @abstractmethod
    def runs(self) -> int:
        """Running dag runs."""

    @abstractmethod
    def holders(self, words: Words) -> Iterator[str]:
        """Statements that fill ``dag``, ``task`` and ``dag_run``."""

    @abstractmethod
    def instances(self, words: Words) -> Iterator[str]:
        """Statements that fill ``task_instance``, each with a part that fits a transaction."""

    @abstractmethod
    def pools(self, words: Words) -> Iterator[str]:
        """Statements that fill ``slot_pool``, when it is known what is active in each."""

    def calls(self) -> Sequence[Call]:
        return ()

    def load(self, engine: sa.Engine, progress: Progress | None = None) -> None:
        """Fill selectq's empty tables in one transaction per step, and give the planner fresh statistics."""
        words = Words(engine.dialect.name, self.seed)
        steps = [
            *self.holders(words),
            *past.history(words, self.history, self.dags),
            *self.instances(words),
            *self.pools(words),
        ]
        with engine.connect() as connection:
            for statement in words.settings:
                connection.execute(sa.text(statement))
            for done, step in enumerate(steps, start=1):
                connection.execute(sa.text(step))
                connection.commit()
                if progress:
                    progress(done, len(steps) + 1)
        refresh_statistics(engine, TABLES)
        if progress:
            progress(len(steps) + 1, len(steps) + 1)
