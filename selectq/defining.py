"""Write dags to the tables, with all that deciding trigger rules needs to know of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql

from selectq import schema
from selectq.dag_checks import check_dag
from selectq.dag_relations import Graph
from selectq.dags import Dag
from selectq.database import connect
from selectq.schema_status import check_schema

Row = dict[str, Any]

ROWS_PER_INSERT = 1_000
TASK_FIELDS = (
    "task_id",
    "trigger_rule",
    "is_mapped",
    "is_setup",
    "is_teardown",
    "depends_on_past",
    "wait_for_downstream",
    "ignore_first_depends_on_past",
    "retries",
    "pool",
    "pool_slots",
    "priority_weight",
    "executor",
    "max_active_tis_per_dag",
    "max_active_tis_per_dagrun",
)


def define(engine: sa.Engine, *dags: Dag) -> None:
    """Make dags what these objects say, each in a transaction of its own: tasks are added, changed, taken out.

    Runs and task instances are left alone, those of such tasks too. All dags are checked before any is written.

    Raises:
        InvalidDagError: a dag can't be like this; names the dag, the task or group, the field and the fix.
        DatabaseUnreachableError, SchemaVersionError: as for a pass.
    """
    for dag in dags:
        check_dag(dag)
    with connect(engine) as connection:
        check_schema(connection)
        connection.rollback()
        for dag in dags:
            with connection.begin():
                store_dag(connection, dag)


def store_dag(connection: sa.Connection, dag: Dag) -> None:
    """Write a dag that was checked, in the caller's transaction."""
    graph = Graph(dag)
    tables = schema.build_metadata(connection.dialect.name).tables
    # First the dag: its row is locked until the end, so that of two at once one waits for the other.
    upsert(connection, tables["dag"], [dag_row(dag)])
    for name in ("task_edge", "task_upstream", "task_group"):
        connection.execute(sa.delete(tables[name]).where(tables[name].c.dag_id == dag.dag_id))
    task = tables["task"]
    known = set(connection.scalars(sa.select(task.c.task_id).where(task.c.dag_id == dag.dag_id)))
    if gone := known - graph.tasks.keys():
        connection.execute(sa.delete(task).where(task.c.dag_id == dag.dag_id, task.c.task_id.in_(sorted(gone))))
    upsert(connection, task, task_rows(dag, graph))
    insert(connection, tables["task_group"], group_rows(dag, graph))
    insert(connection, tables["task_edge"], edge_rows(dag))
    relations = ({"dag_id": dag.dag_id, **asdict(relation)} for relation in graph.relations())
    insert(connection, tables["task_upstream"], relations)


def dag_row(dag: Dag) -> Row:
    row: Row = {"dag_id": dag.dag_id, "max_active_tasks": dag.max_active_tasks}
    return row if dag.is_paused is None else {**row, "is_paused": dag.is_paused}


def task_rows(dag: Dag, graph: Graph) -> list[Row]:
    rows = []
    for task in dag.tasks:
        sized_by = graph.sized_by(task)
        row = {field: getattr(task, field) for field in TASK_FIELDS}
        row["depends_on_past"] |= task.wait_for_downstream
        row["dag_id"] = dag.dag_id
        row["task_no"] = graph.numbers[task.task_id]
        row["sized_by"] = None if sized_by is None else graph.numbers[sized_by]
        row["mapped_group"] = next(iter(graph.mapped_groups[task.task_id]), None)
        rows.append(row)
    return rows


def group_rows(dag: Dag, graph: Graph) -> Iterable[Row]:
    for group in dag.groups:
        yield {
            "dag_id": dag.dag_id,
            "group_id": group.group_id,
            "group_no": graph.numbers[group.group_id],
            "parent_id": group.parent,
            "is_mapped": group.is_mapped,
        }


def edge_rows(dag: Dag) -> Iterable[Row]:
    for task in dag.tasks:
        for upstream in task.upstream:
            yield {"dag_id": dag.dag_id, "upstream_task_id": upstream, "downstream_task_id": task.task_id}


def insert(connection: sa.Connection, table: sa.Table, rows: Iterable[Row]) -> None:
    for chunk in chunks(list(rows)):
        connection.execute(sa.insert(table), chunk)


def upsert(connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    """Insert rows, or change those that are there to the values given."""
    keys = [column.name for column in table.primary_key]
    for chunk in chunks(rows):
        values = [name for name in chunk[0] if name not in keys]
        if connection.dialect.name == "mysql":
            ours = mysql.insert(table)
            connection.execute(ours.on_duplicate_key_update({name: ours.inserted[name] for name in values}), chunk)
        else:
            theirs = postgresql.insert(table)
            changed = {name: theirs.excluded[name] for name in values}
            connection.execute(theirs.on_conflict_do_update(index_elements=keys, set_=changed), chunk)


def chunks(rows: Sequence[Row]) -> Iterable[list[Row]]:
    for start in range(0, len(rows), ROWS_PER_INSERT):
        yield list(rows[start : start + ROWS_PER_INSERT])
