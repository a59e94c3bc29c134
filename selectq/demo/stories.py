"""The two backlogs of the demo, as rows for selectq's tables."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa

from selectq.schema import build_metadata

Row = dict[str, Any]

MAX_TIS = 32
FIRST_DATE = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
TIS_PER_RUN = 10


@dataclass(frozen=True)
class Story:
    """One backlog.

    Attributes:
        name: its name on the command line.
        about: what is in it, for people.
        waiting: the work that a poor loop starves, in words that go with "... of them".
        starved: the dag of that work.
        pools: dag_id -> pool, for each dag that has something to start. A dag uses one pool here.
        max_tis: how many TIs a pass may start.
        rows: table name -> rows, in the order in which they can be inserted.
    """

    name: str
    about: str
    waiting: str
    starved: str
    pools: dict[str, str]
    max_tis: int
    rows: dict[str, list[Row]]

    @property
    def task_instances(self) -> int:
        """How many TIs the backlog has, running ones included."""
        return len(self.rows["task_instance"])


def pools_story(hot: int = 1000, idle: int = 100, slots: int = 20, held: int = 19, max_tis: int = MAX_TIS) -> Story:
    """Two pools. Most ready work is urgent and belongs to the one that is nearly full (apache/airflow #45636).

    Args:
        hot: ready TIs of priority 2 in the pool ``hot``.
        idle: ready TIs of priority 1 in the pool ``idle``.
        slots: of each pool.
        held: slots of ``hot`` that TIs hold throughout.
        max_tis: TIs that a pass may start.
    """
    tables = _Tables()
    tables.add_pool("hot", slots)
    tables.add_pool("idle", slots)
    tables.add_runs("long_dag", held, "hot", priority=3, state="running")
    tables.add_runs("hot_dag", hot, "hot", priority=2)
    tables.add_runs("idle_dag", idle, "idle", priority=1)
    return Story(
        name="pools",
        about=(
            f"Two pools of {slots} slots. In 'hot', {held} are held by long tasks and {hot:,} task instances of "
            f"priority 2 are ready; in 'idle', none is held and {idle:,} of priority 1 are ready. max_tis is {max_tis}."
        ),
        waiting=f"the {idle:,} task instances in the idle pool",
        starved="idle_dag",
        pools={"hot_dag": "hot", "idle_dag": "idle"},
        max_tis=max_tis,
        rows=tables.rows,
    )


def mapped_story(flood: int = 10_000, limit: int = 5, small: int = 10, max_tis: int = MAX_TIS) -> Story:
    """Two dags of one priority. The earlier one maps a task very often and limits it.

    Args:
        flood: mapped TIs of ``dag_a``, all ready.
        limit: how many of them may run at once: ``max_active_tis_per_dagrun`` of their task.
        small: ready TIs of ``dag_b``, which has no such limit.
        max_tis: TIs that a pass may start.
    """
    tables = _Tables()
    tables.add_pool("default_pool", 128)
    tables.add_mapped("dag_a", flood, limit)
    tables.add_mapped("dag_b", small, None)
    return Story(
        name="mapped",
        about=(
            f"dag_a has {flood:,} mapped task instances ready, of which {limit} may run at once "
            f"(max_active_tis_per_dagrun); dag_b has {small:,} ready. Same priority; pool and dags have room. "
            f"max_tis is {max_tis}."
        ),
        waiting=f"the {small:,} task instances of dag_b",
        starved="dag_b",
        pools={"dag_a": "default_pool", "dag_b": "default_pool"},
        max_tis=max_tis,
        rows=tables.rows,
    )


metadata_for = cache(build_metadata)
"""dialect name -> the tables; built once, so that SQLAlchemy compiles each statement of the demo once."""

STORIES: dict[str, Callable[[], Story]] = {"pools": pools_story, "mapped": mapped_story}


def load(engine: sa.Engine, story: Story) -> None:
    """Put the backlog in, in place of what the tables hold."""
    metadata = metadata_for(engine.dialect.name)
    with engine.begin() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())
        for name, rows in story.rows.items():
            connection.execute(metadata.tables[name].insert(), rows)
        if engine.dialect.name == "postgresql":
            # A scheduler's database has statistics; fresh tables would wait a minute for autovacuum to make them.
            for name in story.rows:
                connection.execute(sa.text(f"ANALYZE {name}"))


class _Tables:
    """Collects rows by table."""

    def __init__(self) -> None:
        names = ("slot_pool", "dag", "task", "dag_run", "task_instance")
        self.rows: dict[str, list[Row]] = {name: [] for name in names}

    def add_pool(self, pool: str, slots: int) -> None:
        self.rows["slot_pool"].append({"pool": pool, "slots": slots, "include_deferred": False})

    def add_runs(self, dag_id: str, count: int, pool: str, priority: int, state: str = "scheduled") -> None:
        """A dag of ``TIS_PER_RUN`` tasks, in as many runs, a day apart, as ``count`` TIs need."""
        self._add_dag(dag_id)
        for number in range(min(count, TIS_PER_RUN)):
            self._add_task(dag_id, f"task_{number}", None)
        for number in range(count):
            day, task = divmod(number, TIS_PER_RUN)
            if task == 0:
                self._add_run(dag_id, day)
            self._add_ti(dag_id, day, f"task_{task}", -1, pool, priority, state)

    def add_mapped(self, dag_id: str, count: int, limit: int | None) -> None:
        """A dag of one run with one mapped task."""
        self._add_dag(dag_id)
        self._add_task(dag_id, "mapped", limit)
        self._add_run(dag_id, 0)
        for map_index in range(count):
            self._add_ti(dag_id, 0, "mapped", map_index, "default_pool", 1, "scheduled")

    def _add_dag(self, dag_id: str) -> None:
        self.rows["dag"].append({"dag_id": dag_id, "max_active_tasks": 16})

    def _add_task(self, dag_id: str, task_id: str, per_run: int | None) -> None:
        self.rows["task"].append({"dag_id": dag_id, "task_id": task_id, "max_active_tis_per_dagrun": per_run})

    def _add_run(self, dag_id: str, day: int) -> None:
        row = {"dag_id": dag_id, "run_id": f"day_{day}", "state": "running", "logical_date": _date(day)}
        self.rows["dag_run"].append(row)

    def _add_ti(
        self, dag_id: str, day: int, task_id: str, map_index: int, pool: str, priority: int, state: str
    ) -> None:
        self.rows["task_instance"].append(
            {
                "dag_id": dag_id,
                "run_id": f"day_{day}",
                "task_id": task_id,
                "map_index": map_index,
                "state": state,
                "logical_date": _date(day),
                "pool": pool,
                "pool_slots": 1,
                "priority_weight": priority,
                "try_number": 1,
            }
        )


def _date(day: int) -> datetime.datetime:
    return FIRST_DATE + datetime.timedelta(days=day)
