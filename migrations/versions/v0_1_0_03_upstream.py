"""What deciding trigger rules needs: relations between tasks, mapped groups, expansions, when to try again.

Frozen history: never import selectq here, and never change this file once it is released. It says in full what
``selectq.schema_upstream`` said at that time; a test holds the two against each other while this is the newest
revision.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql, postgresql

revision = "v0_1_0_03"
down_revision = "v0_1_0_02"
branch_labels = None
depends_on = None

MYSQL_OPTIONS: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_0900_bin",
}


def text(length: int) -> sa.types.TypeEngine[str]:
    """VARCHAR that compares as bytes on both engines."""
    return (
        sa.String(length)
        .with_variant(postgresql.VARCHAR(length, collation="C"), "postgresql")
        .with_variant(mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_0900_bin"), "mysql")
    )


def flag(name: str, default: bool = False) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.true() if default else sa.false())


TASK_COLUMNS = (
    "task_no",
    "sized_by",
    "is_mapped",
    "depends_on_past",
    "wait_for_downstream",
    "ignore_first_depends_on_past",
)


def upgrade() -> None:
    if op.get_context().dialect.name == "mysql":
        set_type_of_state(mysql.VARCHAR(20, charset="ascii", collation="ascii_bin"))
    add_columns()
    create_indexes()
    create_tables()


def downgrade() -> None:
    for table in ("task_expansion", "task_upstream", "task_group"):
        op.drop_table(table)
    op.drop_index(op.f("ix_task_instance_upstream"), table_name="task_instance")
    op.drop_index(op.f("ix_task_task_no"), table_name="task")
    op.drop_index(op.f("ix_dag_run_logical_date"), table_name="dag_run")
    op.drop_column("task_instance", "not_before")
    for column in reversed(TASK_COLUMNS):
        op.drop_column("task", column)
    if op.get_context().dialect.name == "mysql":
        set_type_of_state(mysql.VARCHAR(20, charset="utf8mb4", collation="utf8mb4_0900_bin"))


def set_type_of_state(wanted: sa.types.TypeEngine[Any]) -> None:
    """One byte a character, for an index over three ids has no room for four.

    The check is made anew, for its literals have the character set that the column had.
    """
    name = op.f("ck_task_instance_state")
    op.drop_constraint(name, "task_instance", type_="check")
    op.alter_column("task_instance", "state", type_=wanted, existing_nullable=True)
    op.create_check_constraint(
        name,
        "task_instance",
        "state IN ('scheduled', 'queued', 'running', 'deferred', 'success', 'failed', 'skipped', "
        "'upstream_failed', 'removed', 'restarting', 'up_for_retry', 'up_for_reschedule')",
    )


def add_columns() -> None:
    number = sa.Column("task_no", sa.Integer, comment="number in its dag; NULL = not defined, never decided")
    sized = sa.Column("sized_by", sa.Integer, comment="number of what says how many instances it has; NULL = one")
    op.add_column("task", number)
    op.add_column("task", sized)
    op.add_column("task", flag("is_mapped"))
    op.add_column("task", flag("depends_on_past"))
    op.add_column("task", flag("wait_for_downstream"))
    op.add_column("task", flag("ignore_first_depends_on_past", default=True))
    time = sa.TIMESTAMP(timezone=True).with_variant(mysql.DATETIME(fsp=6), "mysql")
    op.add_column("task_instance", sa.Column("not_before", time))


def create_indexes() -> None:
    # The primary key and the state: all that counting needs, without a look at the rows.
    counted = ["dag_id", "run_id", "task_id", "map_index", "state"]
    op.create_index(op.f("ix_task_instance_upstream"), "task_instance", counted)
    op.create_index(op.f("ix_task_task_no"), "task", ["task_no", "dag_id"])
    # Partial: no look-up of a run by its key can be taken to it, which would read all runs of the dag.
    op.create_index(
        op.f("ix_dag_run_logical_date"),
        "dag_run",
        ["dag_id", "logical_date"],
        postgresql_where=sa.text("logical_date IS NOT NULL"),
    )


def create_tables() -> None:
    op.create_table(
        "task_group",
        sa.Column("dag_id", text(250), nullable=False),
        sa.Column("group_id", text(250), nullable=False),
        sa.Column("group_no", sa.Integer, nullable=False),
        sa.Column("parent_id", text(250)),
        flag("is_mapped"),
        sa.PrimaryKeyConstraint("dag_id", "group_id", name=op.f("pk_task_group")),
        sa.ForeignKeyConstraint(["dag_id"], ["dag.dag_id"], name=op.f("fk_task_group_dag"), ondelete="CASCADE"),
        **MYSQL_OPTIONS,
    )
    op.create_table(
        "task_upstream",
        sa.Column("dag_id", text(250), nullable=False),
        sa.Column("task_no", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("upstream_no", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("relation", text(10), nullable=False),
        flag("is_setup"),
        sa.Column("upstream_sized_by", sa.Integer),
        flag("counts_rows"),
        sa.Column("common_group_no", sa.Integer),
        flag("maps_further"),
        sa.PrimaryKeyConstraint("dag_id", "task_no", "upstream_no", "relation", name=op.f("pk_task_upstream")),
        sa.ForeignKeyConstraint(["dag_id"], ["dag.dag_id"], name=op.f("fk_task_upstream_dag"), ondelete="CASCADE"),
        sa.CheckConstraint(
            "relation IN ('direct', 'setup', 'scope', 'expands')", name=op.f("ck_task_upstream_relation")
        ),
        **MYSQL_OPTIONS,
    )
    op.create_table(
        "task_expansion",
        sa.Column("dag_id", text(250), nullable=False),
        sa.Column("run_id", text(250), nullable=False),
        sa.Column("node_id", text(250), nullable=False),
        sa.Column("length", sa.Integer, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("dag_id", "run_id", "node_id", name=op.f("pk_task_expansion")),
        sa.ForeignKeyConstraint(
            ["dag_id", "run_id"],
            ["dag_run.dag_id", "dag_run.run_id"],
            name=op.f("fk_task_expansion_dag_run"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("length >= 0", name=op.f("ck_task_expansion_length")),
        sa.CheckConstraint("size >= 0", name=op.f("ck_task_expansion_size")),
        **MYSQL_OPTIONS,
    )
