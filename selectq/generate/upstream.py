"""Task instances per task and state: what trigger rules count."""

from __future__ import annotations

import sqlalchemy as sa

from selectq.generate import given
from selectq.generate.render import Generated, parameter
from selectq.generate.usage import task, ti

KEY = ("dag_id", "run_id", "task_id")


def counts(dialect: str) -> Generated:
    runs = given.runs(dialect, "runs")
    listed = given.texts(dialect, "task_ids", "task_id")
    # The primary key serves as well, but it is the table itself there.
    index_only = "/*+ INDEX(task_instance ix_task_instance_upstream) */"
    counted = (
        sa.select(*(ti.c[name] for name in (*KEY, "state")), sa.func.count().label("instances"))
        .prefix_with(index_only, dialect="mysql")
        .join_from(runs, ti, sa.and_(ti.c.dag_id == runs.c.dag_id, ti.c.run_id == runs.c.run_id))
        .where(sa.or_(parameter("task_ids").is_(None), ti.c.task_id.in_(sa.select(listed.c.task_id))))
        .group_by(*(ti.c[name] for name in (*KEY, "state")))
        .cte("counted")
    )
    is_setup = sa.func.coalesce(task.c.is_setup, sa.false())
    return Generated(
        name="upstream/counts",
        purpose="Task instances of tasks in some runs, by state; setups are marked.",
        statement=sa.select(
            *(counted.c[name] for name in KEY),
            is_setup.label("is_setup"),
            counted.c.state,
            counted.c.instances,
        ).join_from(
            counted,
            task,
            sa.and_(task.c.dag_id == counted.c.dag_id, task.c.task_id == counted.c.task_id),
            isouter=True,
        ),
        parameters={
            "runs": 'json; [{"dag_id", "run_id"}, ...], each run once',
            "task_ids": "json; the tasks to count, in every run; NULL = all",
        },
        columns={
            "dag_id": "text",
            "run_id": "text",
            "task_id": "text",
            "is_setup": "boolean; the task is a setup",
            "state": "text; NULL = not scheduled yet",
            "instances": "integer; task instances of the task in this run and state",
        },
        limits="none; reads task_instance by an index that holds all it needs",
    )
