"""Task instances by name, whatever their state: what ``selectq why`` starts from."""

from __future__ import annotations

import sqlalchemy as sa

from selectq.generate.render import Generated, parameter
from selectq.generate.usage import ti

KEY = ("dag_id", "run_id", "task_id", "map_index")


def task_instances(dialect: str) -> Generated:
    map_index = parameter("map_index", "integer")
    return Generated(
        name="selection/task_instances",
        purpose="Task instances of one task in one run, whatever their state.",
        statement=sa.select(*(ti.c[name] for name in (*KEY, "state", "pool", "pool_slots", "priority_weight")))
        .where(
            ti.c.dag_id == parameter("dag_id"),
            ti.c.run_id == parameter("run_id"),
            ti.c.task_id == parameter("task_id"),
            sa.or_(map_index.is_(None), ti.c.map_index == map_index),
        )
        .order_by(ti.c.map_index)
        .limit(sa.bindparam("page_size", type_=sa.Integer)),
        parameters={
            "dag_id": "text",
            "run_id": "text",
            "task_id": "text",
            "map_index": "integer; NULL = all",
            "page_size": "integer; most task instances to return, at least 1",
        },
        columns={
            "dag_id": "text",
            "run_id": "text",
            "task_id": "text",
            "map_index": "integer; -1 = not mapped",
            "state": "text; NULL = not scheduled yet",
            "pool": "text",
            "pool_slots": "integer",
            "priority_weight": "integer",
        },
        limits="none",
    )
