"""A world of the trigger oracle in selectq's tables."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from selectq import dags, schema
from selectq.defining import store_dag
from tests.oracle_trigger import Group, Task, World

KEY = ("dag_id", "run_id", "task_id", "map_index")


def store(connection: sa.Connection, world: World) -> None:
    """Fill the empty tables in the caller's transaction."""
    for dag_id in {dag_id for dag_id, _ in world.tasks}:
        store_dag(connection, dag_of(world, dag_id))
    rows: dict[str, list[dict[str, Any]]] = {
        "dag_run": [
            {"dag_id": dag_id, "run_id": run_id, "state": "running", "logical_date": date}
            for (dag_id, run_id), date in world.dates.items()
        ],
        "task_expansion": [
            {"dag_id": dag_id, "run_id": run_id, "node_id": node, "length": size, "size": size}
            for (dag_id, run_id, node), size in world.sizes.items()
        ],
        "task_instance": [
            {**dict(zip(KEY, key, strict=True)), "state": state, "not_before": world.not_before.get(key)}
            for key, state in world.states.items()
        ],
    }
    tables = schema.build_metadata(connection.dialect.name).tables
    for name, values in rows.items():
        if values:
            connection.execute(sa.insert(tables[name]), values)


def dag_of(world: World, dag_id: str) -> dags.Dag:
    return dags.Dag(
        dag_id,
        tasks=[task_of(name, task) for (dag, name), task in world.tasks.items() if dag == dag_id],
        groups=[group_of(name, group) for (dag, name), group in world.groups.items() if dag == dag_id],
    )


def task_of(name: str, task: Task) -> dags.Task:
    return dags.Task(
        name,
        upstream=task.upstream,
        trigger_rule=task.rule,
        group=task.group,
        is_mapped=task.is_mapped,
        expands_over=task.expands_over,
        is_setup=task.is_setup,
        is_teardown=task.is_teardown,
        depends_on_past=task.depends_on_past,
        wait_for_downstream=task.wait_for_downstream,
        ignore_first_depends_on_past=task.ignore_first_depends_on_past,
    )


def group_of(name: str, group: Group) -> dags.Group:
    return dags.Group(name, parent=group.parent, is_mapped=True, expands_over=group.expands_over)
