"""A world of the oracle in selectq's tables, and back."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from selectq import schema
from tests.oracle import Key, World

KEY = ("dag_id", "run_id", "task_id", "map_index")


def store(connection: sa.Connection, world: World) -> None:
    """Fill the empty tables in the caller's transaction."""
    rows: dict[str, list[dict[str, Any]]] = {
        "slot_pool": [{"pool": name, **vars(pool)} for name, pool in world.pools.items()],
        "dag": [{"dag_id": dag_id, **vars(dag)} for dag_id, dag in world.dags.items()],
        "task": [{"dag_id": dag_id, "task_id": task_id, **vars(t)} for (dag_id, task_id), t in world.tasks.items()],
        "dag_run": [{"dag_id": dag_id, "run_id": run_id, **vars(r)} for (dag_id, run_id), r in world.runs.items()],
        "task_instance": [
            {**dict(zip(KEY, key, strict=True)), "logical_date": world.runs[key[:2]].logical_date, **vars(instance)}
            for key, instance in world.instances.items()
        ],
    }
    for name, values in rows.items():
        if values:
            connection.execute(sa.insert(schema.metadata.tables[name]), values)


def states(connection: sa.Connection) -> dict[Key, str | None]:
    """Every row's state."""
    table = schema.metadata.tables["task_instance"]
    found = connection.execute(sa.select(*(table.c[name] for name in KEY), table.c.state))
    return {(row.dag_id, row.run_id, row.task_id, row.map_index): row.state for row in found}
