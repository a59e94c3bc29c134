"""Runs to decide beside a long history of others; the work on them is that of a scheduler's pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import sqlalchemy as sa

from benchmarks.bulk import Words
from benchmarks.upstream.workloads import chain, load_mapped, load_runs, name
from benchmarks.workloads import past
from selectq import upstream
from selectq.dags import Dag
from selectq.defining import define
from selectq.expansion import expand
from selectq.plans.states import Call, analyse
from selectq.rows import RunKey

DAGS = 10
"""Dags with the runs that are decided; as many others have only history."""
TASKS = 100


@dataclass(frozen=True)
class Decisions(ABC):
    """About one task instance in ten is in a run that is decided, the others are history."""

    area: ClassVar[str] = "upstream"

    rows: int

    @property
    @abstractmethod
    def decided(self) -> int:
        """Task instances in runs that are decided."""

    def load(self, engine: sa.Engine) -> None:
        self.load_runs(engine)
        for number in range(DAGS, 2 * DAGS):
            define(engine, Dag(f"dag_{number:05}", chain(TASKS, seed=number)))
        words = Words(engine.dialect.name, seed=1)
        with engine.begin() as connection:
            for statement in (*words.settings, *past.history(words, self.rows - self.decided, 2 * DAGS)):
                connection.execute(sa.text(statement))
        analyse(engine)

    @abstractmethod
    def load_runs(self, engine: sa.Engine) -> None:
        """The runs, and all dags up to number ``DAGS``."""

    @abstractmethod
    def calls(self) -> Sequence[Call]: ...


class ManyRuns(Decisions):
    """Runs of 100 tasks, of 10 dags; in one of them every tenth task depends on the run before."""

    name: ClassVar[str] = "many-runs"

    @property
    def runs_per_dag(self) -> int:
        return max(1, self.rows // (10 * DAGS * TASKS))

    @property
    def decided(self) -> int:
        return DAGS * self.runs_per_dag * TASKS

    def load_runs(self, engine: sa.Engine) -> None:
        load_runs(engine, DAGS, self.runs_per_dag, TASKS)
        tasks = [replace(task, depends_on_past=not number % 10) for number, task in enumerate(chain(TASKS))]
        define(engine, Dag("dag_00000", tasks))

    def calls(self) -> Sequence[Call]:
        runs = [(f"dag_{dag:05}", f"run_{run:05}") for run in range(self.runs_per_dag) for dag in range(DAGS)]
        return (
            lambda connection: upstream.upstream_tasks(connection, "dag_00001", name(50)),
            lambda connection: upstream.counts(connection, runs),
            lambda connection: decide_and_apply(connection, runs),
        )


class BehindMapped(Decisions):
    """One run: a mapped upstream, and a tenth as many tasks behind it as it has instances."""

    name: ClassVar[str] = "behind-mapped"

    @property
    def decided(self) -> int:
        return self.rows // 10

    @property
    def instances(self) -> int:
        return self.decided * 10 // 11

    def load_runs(self, engine: sa.Engine) -> None:
        load_mapped(engine, self.instances, self.decided - self.instances)
        for number in range(DAGS):
            define(engine, Dag(f"dag_{number:05}", chain(TASKS, seed=number)))

    def calls(self) -> Sequence[Call]:
        run = ("dag", "run")
        return (
            lambda connection: upstream.upstream_tasks(connection, "dag", name(50)),
            lambda connection: upstream.counts(connection, [run], ["mapped"]),
            lambda connection: decide_and_apply(connection, [run]),
            lambda connection: expand(connection, *run, "mapped", self.instances + 10),
        )


def decide_and_apply(connection: sa.Connection, runs: Iterable[RunKey]) -> None:
    upstream.apply(connection, upstream.decide(connection, runs, waiting=False))
