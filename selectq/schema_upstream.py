"""What deciding trigger rules needs beyond selection: how tasks hang together, worked out once.

``selectq.define`` fills ``task_group`` and ``task_upstream``, so that a pass walks no graph. Inside them tasks and
groups go by a number of their dag, ``task_no`` and ``group_no``: a pass joins millions of rows on it, and MySQL can't
key a temporary table by ids. ``task_expansion`` holds how long a mapped task or group is in a run, once that is known.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from selectq.schema_types import ID_LENGTH, MYSQL_OPTIONS, one_of, text_type, time_type

RELATIONS = ("direct", "setup", "scope", "expands")
"""What an upstream is to a task: a direct upstream; a relevant setup that is none; for a teardown, a task between its
setups and it that is none; what the task, or else the mapped group around it, is expanded over."""


def add_upstream(metadata: sa.MetaData) -> None:
    """Add the tables of this module to those of ``selectq.schema``, and to these some columns and an index."""
    task, task_instance = metadata.tables["task"], metadata.tables["task_instance"]
    for column in task_columns():
        task.append_column(column)
    task_instance.append_column(sa.Column("not_before", time_type()))
    # The primary key and the state: all that counting needs, without a look at the rows.
    counted = ("dag_id", "run_id", "task_id", "map_index", "state")
    sa.Index("ix_task_instance_upstream", *(task_instance.c[name] for name in counted))
    # Not led by dag_id: no other look-up of a task can be taken to it.
    sa.Index("ix_task_task_no", task.c.task_no, task.c.dag_id)
    dag_run = metadata.tables["dag_run"]
    # Partial: no look-up of a run by its key can be taken to it, which would read all runs of the dag.
    sa.Index(
        "ix_dag_run_logical_date", dag_run.c.dag_id, dag_run.c.logical_date,
        postgresql_where=dag_run.c.logical_date.is_not(None),
    )
    add_groups(metadata)
    add_relations(metadata)
    add_expansions(metadata)


def identifier(name: str, key: bool = False) -> sa.Column[str]:
    return sa.Column(name, text_type(ID_LENGTH), primary_key=key, nullable=False)


def number(name: str, key: bool = False, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, primary_key=key, nullable=nullable, autoincrement=False)


def flag(name: str, default: bool = False) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.true() if default else sa.false())


def task_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("task_no", sa.Integer, comment="number in its dag; NULL = not defined, never decided"),
        sa.Column("sized_by", sa.Integer, comment="number of what says how many instances it has; NULL = one"),
        flag("is_mapped"),
        flag("depends_on_past"),
        flag("wait_for_downstream"),
        flag("ignore_first_depends_on_past", default=True),
    ]


def add_groups(metadata: sa.MetaData) -> None:
    sa.Table(
        "task_group",
        metadata,
        identifier("dag_id", key=True),
        identifier("group_id", key=True),
        number("group_no"),
        sa.Column("parent_id", text_type(ID_LENGTH)),
        flag("is_mapped"),
        sa.ForeignKeyConstraint(["dag_id"], ["dag.dag_id"], ondelete="CASCADE"),
        **MYSQL_OPTIONS,
    )


def add_relations(metadata: sa.MetaData) -> None:
    sa.Table(
        "task_upstream",
        metadata,
        identifier("dag_id", key=True),
        number("task_no", key=True),
        number("upstream_no", key=True),
        sa.Column("relation", text_type(10), primary_key=True, nullable=False),
        flag("is_setup"),
        number("upstream_sized_by", nullable=True),
        flag("counts_rows"),
        number("common_group_no", nullable=True),
        flag("maps_further"),
        sa.ForeignKeyConstraint(["dag_id"], ["dag.dag_id"], ondelete="CASCADE"),
        sa.CheckConstraint(one_of("relation", RELATIONS), name="relation"),
        **MYSQL_OPTIONS,
    )


def add_expansions(metadata: sa.MetaData) -> None:
    sa.Table(
        "task_expansion",
        metadata,
        identifier("dag_id", key=True),
        identifier("run_id", key=True),
        identifier("node_id", key=True),
        number("length"),
        number("size"),
        sa.ForeignKeyConstraint(["dag_id", "run_id"], ["dag_run.dag_id", "dag_run.run_id"], ondelete="CASCADE"),
        sa.CheckConstraint("length >= 0", name="length"),
        sa.CheckConstraint("size >= 0", name="size"),
        **MYSQL_OPTIONS,
    )
