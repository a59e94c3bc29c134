"""The first tables: pools, dags, tasks and their edges, dag runs, task instances.

Frozen history: never import selectq here, and never change this file once it is released. It says in full what
``selectq.schema`` said at that time; a test holds the two against each other while this is the newest revision.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql, postgresql

revision = "v0_1_0_01"
down_revision = None
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


def point_in_time() -> sa.types.TypeEngine[Any]:
    return sa.TIMESTAMP(timezone=True).with_variant(mysql.DATETIME(fsp=6), "mysql")


def upgrade() -> None:
    create_pools_and_dags()
    create_tasks()
    create_runs()
    create_task_instances()


def downgrade() -> None:
    for table in ("task_instance", "dag_run", "task_edge", "task", "dag", "slot_pool"):
        op.drop_table(table)


def create_pools_and_dags() -> None:
    op.create_table(
        "slot_pool",
        sa.Column("pool", text(256), nullable=False),
        sa.Column("slots", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("include_deferred", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("description", sa.Text),
        sa.PrimaryKeyConstraint("pool", name=op.f("pk_slot_pool")),
        sa.CheckConstraint("slots >= -1", name=op.f("ck_slot_pool_slots")),
        **MYSQL_OPTIONS,
    )
    op.create_table(
        "dag",
        sa.Column("dag_id", text(250), nullable=False),
        sa.Column("is_paused", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("max_active_tasks", sa.Integer, nullable=False, server_default="16"),
        sa.PrimaryKeyConstraint("dag_id", name=op.f("pk_dag")),
        **MYSQL_OPTIONS,
    )


def create_tasks() -> None:
    op.create_table(
        "task",
        sa.Column("dag_id", text(250), nullable=False),
        sa.Column("task_id", text(250), nullable=False),
        sa.Column("max_active_tis_per_dag", sa.Integer),
        sa.Column("max_active_tis_per_dagrun", sa.Integer),
        sa.Column("pool", text(256), nullable=False, server_default="default_pool"),
        sa.Column("pool_slots", sa.Integer, nullable=False, server_default="1"),
        sa.Column("priority_weight", sa.Integer, nullable=False, server_default="1"),
        sa.Column("executor", text(250)),
        sa.Column("trigger_rule", text(50), nullable=False, server_default="all_success"),
        sa.Column("retries", sa.Integer, nullable=False, server_default="0"),
        sa.Column("is_setup", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("is_teardown", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("mapped_group", text(250)),
        sa.PrimaryKeyConstraint("dag_id", "task_id", name=op.f("pk_task")),
        sa.ForeignKeyConstraint(["dag_id"], ["dag.dag_id"], name=op.f("fk_task_dag"), ondelete="CASCADE"),
        sa.CheckConstraint("pool_slots >= 1", name=op.f("ck_task_pool_slots")),
        sa.CheckConstraint("retries >= 0", name=op.f("ck_task_retries")),
        sa.CheckConstraint(
            "trigger_rule IN ('all_success', 'all_failed', 'all_done', 'all_done_min_one_success', "
            "'all_done_setup_success', 'all_skipped', 'always', 'none_failed', 'none_failed_min_one_success', "
            "'none_skipped', 'one_done', 'one_failed', 'one_success')",
            name=op.f("ck_task_trigger_rule"),
        ),
        sa.CheckConstraint("NOT (is_setup AND is_teardown)", name=op.f("ck_task_setup_or_teardown")),
        sa.CheckConstraint("executor <> ''", name=op.f("ck_task_executor")),
        **MYSQL_OPTIONS,
    )
    op.create_table(
        "task_edge",
        sa.Column("dag_id", text(250), nullable=False),
        sa.Column("upstream_task_id", text(250), nullable=False),
        sa.Column("downstream_task_id", text(250), nullable=False),
        sa.PrimaryKeyConstraint("dag_id", "upstream_task_id", "downstream_task_id", name=op.f("pk_task_edge")),
        sa.ForeignKeyConstraint(
            ["dag_id", "upstream_task_id"],
            ["task.dag_id", "task.task_id"],
            name=op.f("fk_task_edge_upstream"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["dag_id", "downstream_task_id"],
            ["task.dag_id", "task.task_id"],
            name=op.f("fk_task_edge_downstream"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("upstream_task_id <> downstream_task_id", name=op.f("ck_task_edge_no_loop")),
        sa.CheckConstraint(
            "octet_length(dag_id) + octet_length(upstream_task_id) + octet_length(downstream_task_id) <= 2600",
            name=op.f("ck_task_edge_key_bytes"),
        ),
        **MYSQL_OPTIONS,
    )
    op.create_index(op.f("ix_task_edge_downstream"), "task_edge", ["dag_id", "downstream_task_id"])


def create_runs() -> None:
    op.create_table(
        "dag_run",
        sa.Column("dag_id", text(250), nullable=False),
        sa.Column("run_id", text(250), nullable=False),
        sa.Column("state", text(50), nullable=False, server_default="queued"),
        sa.Column("run_type", text(50), nullable=False, server_default="scheduled"),
        sa.Column("logical_date", point_in_time()),
        sa.PrimaryKeyConstraint("dag_id", "run_id", name=op.f("pk_dag_run")),
        sa.ForeignKeyConstraint(["dag_id"], ["dag.dag_id"], name=op.f("fk_dag_run_dag"), ondelete="CASCADE"),
        sa.CheckConstraint("state IN ('queued', 'running', 'success', 'failed')", name=op.f("ck_dag_run_state")),
        sa.CheckConstraint(
            "run_type IN ('scheduled', 'manual', 'backfill', 'asset_triggered', 'asset_materialization')",
            name=op.f("ck_dag_run_run_type"),
        ),
        **MYSQL_OPTIONS,
    )


def create_task_instances() -> None:
    on_mysql = op.get_context().dialect.name == "mysql"
    op.create_table(
        "task_instance",
        sa.Column("dag_id", text(250), nullable=False),
        sa.Column("run_id", text(250), nullable=False),
        sa.Column("task_id", text(250), nullable=False),
        sa.Column("map_index", sa.Integer, nullable=False, server_default="-1", autoincrement=False),
        sa.Column("state", text(20)),
        sa.Column("logical_date", point_in_time(), comment="copy of the dag run's: part of the selection order"),
        sa.Column("pool", text(256), nullable=False, server_default="default_pool"),
        sa.Column("pool_slots", sa.Integer, nullable=False, server_default="1"),
        sa.Column("priority_weight", sa.Integer, nullable=False, server_default="1"),
        sa.Column("executor", text(250)),
        sa.Column("try_number", sa.Integer, nullable=False, server_default="0"),
        sa.Column("queued_dttm", point_in_time()),
        sa.Column("queued_by", text(250)),
        sa.Column("claim_token", sa.Uuid),
        *(mysql_generated_columns() if on_mysql else ()),
        sa.PrimaryKeyConstraint("dag_id", "run_id", "task_id", "map_index", name=op.f("pk_task_instance")),
        sa.ForeignKeyConstraint(
            ["dag_id", "run_id"],
            ["dag_run.dag_id", "dag_run.run_id"],
            name=op.f("fk_task_instance_dag_run"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("map_index >= -1", name=op.f("ck_task_instance_map_index")),
        sa.CheckConstraint("pool_slots >= 1", name=op.f("ck_task_instance_pool_slots")),
        sa.CheckConstraint("try_number >= 0", name=op.f("ck_task_instance_try_number")),
        sa.CheckConstraint(
            "state IN ('scheduled', 'queued', 'running', 'deferred', 'success', 'failed', 'skipped', "
            "'upstream_failed', 'removed', 'restarting', 'up_for_retry', 'up_for_reschedule')",
            name=op.f("ck_task_instance_state"),
        ),
        sa.CheckConstraint("executor <> ''", name=op.f("ck_task_instance_executor")),
        # PostgreSQL refuses index rows over 2,704 bytes: unless INSERT refuses long ids, a claim's UPDATE could fail.
        sa.CheckConstraint(
            "octet_length(dag_id) + octet_length(run_id) + octet_length(task_id) + octet_length(pool) "
            "+ octet_length(coalesce(executor, '')) + octet_length(coalesce(executor, '')) <= 2600",
            name=op.f("ck_task_instance_key_bytes"),
        ),
        *(() if on_mysql else postgresql_checks()),
        **MYSQL_OPTIONS,
    )
    if on_mysql:
        create_mysql_indexes()
    else:
        create_postgresql_indexes()


def postgresql_checks() -> tuple[sa.CheckConstraint, ...]:
    """Infinity stands for "no date" in the order of selection; MySQL has no such date."""
    return (sa.CheckConstraint("isfinite(logical_date)", name=op.f("ck_task_instance_logical_date")),)


def mysql_generated_columns() -> tuple[sa.Column[object], ...]:
    """Stand-ins for partial indexes and NULLS LAST; virtual, so they take room only in the indexes."""
    return (
        sa.Column(
            "scheduled_pool",
            mysql.BINARY(16),
            sa.Computed("if(state = 'scheduled', left(unhex(sha2(pool, 256)), 16), NULL)", persisted=False),
        ),
        sa.Column("undated", mysql.TINYINT, sa.Computed("logical_date IS NULL", persisted=False)),
        sa.Column(
            "active",
            mysql.TINYINT,
            sa.Computed("if(state IN ('queued', 'running', 'deferred'), 1, NULL)", persisted=False),
        ),
        sa.Column("deferred", mysql.TINYINT, sa.Computed("state = 'deferred'", persisted=False)),
    )


def create_mysql_indexes() -> None:
    op.create_index(
        op.f("ix_task_instance_selection"),
        "task_instance",
        [
            "scheduled_pool",
            sa.text("priority_weight DESC"),
            "undated",
            "logical_date",
            "dag_id",
            "run_id",
            "task_id",
            "map_index",
            "pool_slots",
        ],
    )
    op.create_index(op.f("ix_task_instance_active"), "task_instance", ["state", "pool", "pool_slots"])
    op.create_index(
        op.f("ix_task_instance_holders"), "task_instance", ["active", "dag_id", "run_id", "task_id", "deferred"]
    )


def create_postgresql_indexes() -> None:
    op.create_index(
        op.f("ix_task_instance_selection"),
        "task_instance",
        [
            "pool",
            "pool_slots",
            sa.text("coalesce(executor, '')"),
            sa.text("(-1 - priority_weight)"),
            sa.text("coalesce(logical_date, 'infinity')"),
            "dag_id",
            "run_id",
            "task_id",
            "map_index",
        ],
        postgresql_where=sa.text("state = 'scheduled'"),
        postgresql_include=["executor", "priority_weight", "logical_date"],
    )
    active = "state IN ('queued', 'running', 'deferred')"
    op.create_index(
        op.f("ix_task_instance_active"),
        "task_instance",
        ["dag_id", "run_id", "task_id"],
        postgresql_where=sa.text(f"{active} AND run_id IS NOT NULL"),
        postgresql_include=["state"],
    )
    op.create_index(
        op.f("ix_task_instance_active_pool"),
        "task_instance",
        ["pool"],
        postgresql_where=sa.text(f"{active} AND pool IS NOT NULL"),
        postgresql_include=["state", "pool_slots"],
    )
    op.create_index(
        op.f("ix_task_instance_active_task"),
        "task_instance",
        ["task_id", "dag_id"],
        postgresql_where=sa.text(f"{active} AND task_id IS NOT NULL"),
    )
