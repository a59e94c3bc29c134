"""Which task instances a pass must start, as one straight walk in Python; nothing imported from selectq.

Unlike ``tests/oracle.py``, which counts everything anew at each step, it keeps its counts, reads the backlog a range of
weights at a time from the highest down, and stops when the pass is full: about a second for 100,000 rows. The order is
its own: the server is never asked to sort. It knows no executor slots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, NamedTuple

import sqlalchemy as sa

Row = sa.Row[*tuple[Any, ...]]
Key = tuple[str, str, str, int]
Holder = tuple[str, ...]
"""Its kind and its name."""
BEFORE_ALL_DATES = datetime(1, 1, 1, tzinfo=UTC)
ROWS_AT_ONCE = 50_000
"""A range of weights is closed once it has as many; one weight is never cut."""

WEIGHTS = "SELECT priority_weight, COUNT(*) AS waiting FROM task_instance WHERE state = 'scheduled' GROUP BY 1"
WAITING = """
    SELECT dag_id, run_id, task_id, map_index, priority_weight, pool, pool_slots
    FROM task_instance
    WHERE state = 'scheduled' AND priority_weight BETWEEN :lowest AND :highest
"""
RUNS = """
    SELECT r.dag_id, r.run_id, r.logical_date
    FROM dag_run AS r
    JOIN dag AS d ON d.dag_id = r.dag_id
    WHERE r.state = 'running' AND NOT d.is_paused
"""
ACTIVE = """
    SELECT dag_id, run_id, task_id, state, pool, pool_slots
    FROM task_instance
    WHERE state IN ('queued', 'running', 'deferred')
"""
POOLS = "SELECT pool, slots, include_deferred FROM slot_pool"
DAGS = "SELECT dag_id, max_active_tasks FROM dag"
TASKS = "SELECT dag_id, task_id, max_active_tis_per_dag, max_active_tis_per_dagrun FROM task"
NO_LIMITS = SimpleNamespace(max_active_tis_per_dag=None, max_active_tis_per_dagrun=None)


class Waiting(NamedTuple):
    """A candidate; tuples of this kind sort in the total order."""

    negative_weight: int
    run_place: int
    task_bytes: bytes
    map_index: int
    run: tuple[str, str]
    task_id: str
    pool: str
    pool_slots: int

    @property
    def key(self) -> Key:
        return (*self.run, self.task_id, self.map_index)


@dataclass(frozen=True)
class Walk:
    """What one pass must do."""

    started: list[Key]
    """In order."""
    holders: int
    """Touched: open pools; runs, limited tasks and limited tasks in a run of what was started; and for each that was
    passed over one that it did not fit, a pool if there is one."""
    blocked: Key | None
    """The first that was passed over, if there is one."""
    blocked_by: frozenset[str]
    """The limits that it did not fit."""
    passed_over: Counter[str]
    """How many did not fit each limit."""


def expected(connection: sa.Connection, max_tis: int) -> list[Key]:
    """Keys of the first ``max_tis`` that fit every limit, in the total order."""
    return walk(connection, max_tis).started


def walk(connection: sa.Connection, max_tis: int) -> Walk:
    """Start what fits, from the front of the line, until ``max_tis`` are started or the line ends."""

    def rows(query: str) -> list[Row]:
        return list(connection.execute(sa.text(query)))

    pools = {row.pool: row for row in rows(POOLS)}
    dags = {row.dag_id: row.max_active_tasks for row in rows(DAGS)}
    tasks: dict[tuple[str, str], Any] = {(row.dag_id, row.task_id): row for row in rows(TASKS)}
    in_pool: Counter[str] = Counter()
    in_run: Counter[tuple[str, str]] = Counter()
    in_task: Counter[tuple[str, str]] = Counter()
    in_task_of_run: Counter[tuple[str, str, str]] = Counter()
    touched: set[Holder] = set()

    def take(dag_id: str, run_id: str, task_id: str, state: str, pool: str, pool_slots: int) -> None:
        if state != "deferred":
            in_run[dag_id, run_id] += 1
        if state != "deferred" or (pool in pools and pools[pool].include_deferred):
            in_pool[pool] += pool_slots
        in_task[dag_id, task_id] += 1
        in_task_of_run[dag_id, run_id, task_id] += 1

    def full(row: Waiting) -> Iterator[tuple[str, Holder]]:
        """The limits that it does not fit, each with its holder."""
        pool, (dag_id, run_id) = pools.get(row.pool), row.run
        task = tasks.get((dag_id, row.task_id), NO_LIMITS)
        if pool is None:
            yield "no_pool", ("pool", row.pool)
        elif pool.slots != -1 and in_pool[row.pool] + row.pool_slots > pool.slots:
            yield "pool", ("pool", row.pool)
        if in_run[row.run] >= dags[dag_id]:
            yield "max_active_tasks", ("run", *row.run)
        if reached(in_task[dag_id, row.task_id], task.max_active_tis_per_dag):
            yield "max_active_tis_per_dag", ("task", dag_id, row.task_id)
        if reached(in_task_of_run[dag_id, run_id, row.task_id], task.max_active_tis_per_dagrun):
            yield "max_active_tis_per_dagrun", ("task in run", dag_id, run_id, row.task_id)

    def touch(row: Waiting) -> None:
        dag_id, run_id = row.run
        task = tasks.get((dag_id, row.task_id), NO_LIMITS)
        touched.add(("run", dag_id, run_id))
        if task.max_active_tis_per_dag is not None:
            touched.add(("task", dag_id, row.task_id))
        if task.max_active_tis_per_dagrun is not None:
            touched.add(("task in run", dag_id, run_id, row.task_id))

    for dag_id, run_id, task_id, state, name, slots in rows(ACTIVE):
        take(dag_id, run_id, task_id, state, name, slots)
    touched |= {("pool", name) for name, pool in pools.items() if pool.slots == -1 or in_pool[name] < pool.slots}
    started: list[Key] = []
    blocked: Waiting | None = None
    blocked_by: frozenset[str] = frozenset()
    passed_over: Counter[str] = Counter()
    for row in in_line(connection):
        if len(started) == max_tis:
            break
        limits = dict(full(row))
        passed_over.update(limits.keys())
        if not limits:
            take(*row.run, row.task_id, "queued", row.pool, row.pool_slots)
            touch(row)
            started.append(row.key)
            continue
        touched.add(next(iter(limits.values())))
        if blocked is None:
            blocked, blocked_by = row, frozenset(limits)
    return Walk(started, len(touched), blocked and blocked.key, blocked_by, passed_over)


def reached(used: int, limit: int | None) -> bool:
    return limit is not None and used >= limit


def in_line(connection: sa.Connection) -> Iterator[Waiting]:
    """The candidates in the total order, read a range of weights at a time."""
    runs = sorted(connection.execute(sa.text(RUNS)), key=place_of_run)
    places = {(row.dag_id, row.run_id): place for place, row in enumerate(runs)}
    counts = {row.priority_weight: row.waiting for row in connection.execute(sa.text(WEIGHTS))}
    for highest, lowest in ranges(counts):
        limits = {"lowest": lowest, "highest": highest}
        found = connection.execute(sa.text(WAITING), limits, execution_options={"yield_per": 10_000})
        yield from sorted(
            Waiting(-weight, places[dag_id, run_id], task_id.encode(), index, (dag_id, run_id), task_id, pool, slots)
            for dag_id, run_id, task_id, index, weight, pool, slots in found
            if (dag_id, run_id) in places
        )


def ranges(counts: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Highest and lowest weight of each range, from the top."""
    inside: list[int] = []
    rows = 0
    for weight in sorted(counts, reverse=True):
        inside.append(weight)
        rows += counts[weight]
        if rows >= ROWS_AT_ONCE:
            yield inside[0], inside[-1]
            inside, rows = [], 0
    if inside:
        yield inside[0], inside[-1]


def place_of_run(row: Row) -> tuple[object, ...]:
    date = row.logical_date or BEFORE_ALL_DATES
    # MySQL's times come without a zone: they are in UTC.
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return row.logical_date is None, date, row.dag_id.encode(), row.run_id.encode()
