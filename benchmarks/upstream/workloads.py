"""Runs to decide: made in Python from a seed, the same rows on every engine."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import sqlalchemy as sa

from selectq import schema
from selectq.dags import Dag, Task
from selectq.defining import define
from selectq.plans.statistics import refresh_statistics
from selectq.rows import RunKey

Row = dict[str, Any]

RULES = ("all_success", "all_done", "none_failed", "one_success")
ALL_RULES = (
    *RULES,
    "all_failed",
    "all_done_min_one_success",
    "all_skipped",
    "always",
    "none_failed_min_one_success",
    "none_skipped",
    "one_done",
    "one_failed",
)
"""But for that of teardowns."""
SUCCEEDED = ("success",)
MIXED = ("success",) * 17 + ("skipped", "failed", "upstream_failed")
TABLES = ("dag", "task", "task_edge", "task_upstream", "dag_run", "task_instance")
ROWS_PER_INSERT = 5_000
START = datetime(2026, 1, 1, tzinfo=UTC)


def chain(tasks: int, seed: int = 1, rules: Sequence[str] = RULES) -> list[Task]:
    """Tasks with up to two upstreams each, among the ten before them."""
    draw = random.Random(seed)
    found = []
    for number in range(tasks):
        upstream = draw.sample(range(max(0, number - 10), number), min(number, 2))
        found.append(Task(name(number), [name(other) for other in sorted(upstream)], draw.choice(rules)))
    return found


def name(number: int) -> str:
    return f"task_{number:05}"


def load_runs(
    engine: sa.Engine,
    dags: int,
    runs: int,
    tasks: int = 100,
    seed: int = 1,
    rules: Sequence[str] = RULES,
    outcomes: Sequence[str] = SUCCEEDED,
) -> list[RunKey]:
    """``runs`` runs of each of ``dags`` dags, each done up to a random task; two run, the rest waits.

    Args:
        rules: of the tasks, drawn at random.
        outcomes: of what is done, likewise.
    """
    draw = random.Random(seed)
    keys = [(f"dag_{dag:05}", f"run_{run:05}") for run in range(runs) for dag in range(dags)]
    for dag_id in dict.fromkeys(dag_id for dag_id, _ in keys):
        define(engine, Dag(dag_id, chain(tasks, rules=rules)))

    def instances() -> Iterator[Row]:
        for dag_id, run_id in keys:
            done = draw.randrange(tasks)
            for number in range(tasks):
                state = draw.choice(outcomes) if number < done else "running" if number < done + 2 else None
                yield row(dag_id, run_id, name(number), -1, state)

    fill(engine, keys, instances())
    return keys


def load_mapped(engine: sa.Engine, instances: int, downstreams: int = 1_000) -> list[RunKey]:
    """One run with a mapped upstream, one instance of which still runs, and that many tasks behind it."""
    after = [Task(name(number), ["mapped"], RULES[number % len(RULES)]) for number in range(downstreams)]
    define(engine, Dag("dag", [Task("mapped", is_mapped=True), *after]))

    def rows() -> Iterator[Row]:
        for index in range(instances):
            yield row("dag", "run", "mapped", index, "success" if index else "running")
        for task in after:
            yield row("dag", "run", task.task_id, -1, None)

    fill(engine, [("dag", "run")], rows())
    return [("dag", "run")]


def row(dag_id: str, run_id: str, task_id: str, map_index: int, state: str | None) -> Row:
    return {"dag_id": dag_id, "run_id": run_id, "task_id": task_id, "map_index": map_index, "state": state}


def fill(engine: sa.Engine, keys: Iterable[RunKey], instances: Iterable[Row]) -> None:
    tables = schema.build_metadata(engine.dialect.name).tables
    runs = (
        {"dag_id": dag_id, "run_id": run_id, "state": "running", "logical_date": START + timedelta(hours=number)}
        for number, (dag_id, run_id) in enumerate(keys)
    )
    for table, rows in (("dag_run", runs), ("task_instance", iter(instances))):
        while chunk := list(islice(rows, ROWS_PER_INSERT)):
            with engine.begin() as connection:
                connection.execute(sa.insert(tables[table]), chunk)
    refresh_statistics(engine, TABLES)
