"""A scenario into empty tables, by bulk inserts that work the same on both engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

import sqlalchemy as sa

from selectq import schema
from selectq.defining import store_dag
from selectq.scenario.model import Instances, Scenario
from selectq.scenario.trigger_model import TriggerScenario

Row = dict[str, Any]
ROWS_PER_INSERT = 1_000


def load(connection: sa.Connection, scenario: Scenario) -> None:
    """Fill the tables, which must be empty, inside the caller's transaction.

    Task instances get the logical date of their dag run. Entries with a large ``count`` are multiplied by the server.
    """
    tables = schema.build_metadata(connection.dialect.name).tables
    insert(connection, tables["slot_pool"], rows_like(tables["slot_pool"], scenario.pools))
    insert(connection, tables["dag"], rows_like(tables["dag"], scenario.dags))
    insert(connection, tables["task"], rows_like(tables["task"], scenario.tasks))
    insert(connection, tables["task_edge"], edges(scenario))
    load_runs(connection, scenario)


def load_trigger(connection: sa.Connection, scenario: TriggerScenario) -> None:
    """As ``load``, with the dags defined as ``selectq.define`` does it, and the lengths of what is mapped."""
    tables = schema.build_metadata(connection.dialect.name).tables
    insert(connection, tables["slot_pool"], rows_like(tables["slot_pool"], scenario.pools))
    for dag in scenario.definitions:
        store_dag(connection, dag)
    load_runs(connection, scenario)
    insert(connection, tables["task_expansion"], expansions(scenario))


def load_runs(connection: sa.Connection, scenario: Scenario | TriggerScenario) -> None:
    tables = schema.build_metadata(connection.dialect.name).tables
    insert(connection, tables["dag_run"], rows_like(tables["dag_run"], scenario.dag_runs))
    insert(connection, tables["task_instance"], first_instances(scenario))
    for entry in scenario.task_instances:
        multiply(connection, tables["task_instance"], entry)


def insert(connection: sa.Connection, table: sa.Table, rows: Iterable[Row]) -> None:
    remaining = iter(rows)
    while chunk := list(islice(remaining, ROWS_PER_INSERT)):
        connection.execute(sa.insert(table), chunk)


def expansions(scenario: TriggerScenario) -> Iterator[Row]:
    for run in scenario.dag_runs:
        for (dag_id, node_id), size in scenario.sizes.items():
            if dag_id == run.dag_id:
                yield {"dag_id": dag_id, "run_id": run.run_id, "node_id": node_id, "length": size, "size": size}


def rows_like(table: sa.Table, records: Iterable[object]) -> Iterator[Row]:
    """Records as rows: their fields are named as the columns are."""
    for record in records:
        yield {column.name: getattr(record, column.name) for column in table.c if hasattr(record, column.name)}


def edges(scenario: Scenario) -> Iterator[Row]:
    for task in scenario.tasks:
        for upstream in task.upstream:
            yield {"dag_id": task.dag_id, "upstream_task_id": upstream, "downstream_task_id": task.task_id}


def first_instances(scenario: Scenario | TriggerScenario) -> Iterator[Row]:
    """The rows of every entry, of large ones only the first ``ROWS_PER_INSERT``."""
    table = schema.metadata.tables["task_instance"]
    dates: dict[tuple[str, str], datetime | None] = {
        (run.dag_id, run.run_id): run.logical_date for run in scenario.dag_runs
    }
    for entry in scenario.task_instances:
        (row,) = rows_like(table, [entry])
        row["logical_date"] = dates[entry.dag_id, entry.run_id]
        for map_index in range(entry.first, entry.first + min(entry.count, ROWS_PER_INSERT)):
            yield {**row, "map_index": map_index}


def multiply(connection: sa.Connection, table: sa.Table, entry: Instances) -> None:
    """Let the rows of a large entry copy themselves until there are ``count``: no row travels from here."""
    c = table.c
    names = [column.name for column in table.columns if column.computed is None]
    there = ROWS_PER_INSERT
    while there < entry.count:
        copies = [(c.map_index + there) if name == "map_index" else c[name] for name in names]
        source = sa.select(*copies).where(
            c.dag_id == entry.dag_id,
            c.run_id == entry.run_id,
            c.task_id == entry.task_id,
            c.map_index >= entry.first,
            c.map_index < entry.first + min(there, entry.count - there),
        )
        connection.execute(sa.insert(table).from_select(names, source))
        there *= 2
