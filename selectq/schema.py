"""The tables of selectq as SQLAlchemy Core objects, in Airflow's names and types.

Migrations and generated queries are built from here. The tables are the same on both engines but for four columns that
only MySQL has (``scheduled_pool``, ``undated``, ``active`` and ``deferred`` of ``task_instance``): MySQL has no partial
indexes and sorts NULL first, and these let ordinary indexes do the work (``docs/decisions/0003-selection-index.md``).

Ids compare as bytes on both engines: ``COLLATE "C"`` on Postgres, ``utf8mb4_0900_bin`` (no padding) on MySQL.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from selectq.schema_parsing import add_parsing_tables
from selectq.schema_types import (
    ID_LENGTH,
    KEY_BYTES,
    MYSQL_OPTIONS,
    POOL_LENGTH,
    one_of,
    state_type,
    text_type,
    time_type,
    within_key_bytes,
)
from selectq.schema_upstream import add_upstream

__all__ = [
    "ACTIVE_STATES",
    "ID_LENGTH",
    "KEY_BYTES",
    "POOL_LENGTH",
    "RUN_STATES",
    "RUN_TYPES",
    "TI_STATES",
    "TRIGGER_RULES",
    "build_metadata",
    "metadata",
]

TI_STATES = (
    "scheduled",
    "queued",
    "running",
    "deferred",
    "success",
    "failed",
    "skipped",
    "upstream_failed",
    "removed",
    "restarting",
    "up_for_retry",
    "up_for_reschedule",
)
"""States of a task instance; NULL is a further one: not scheduled yet (Airflow 3.3, ``TaskInstanceState``)."""

ACTIVE_STATES = ("queued", "running", "deferred")
"""States that some limit counts (SPEC 2)."""

RUN_STATES = ("queued", "running", "success", "failed")
RUN_TYPES = ("scheduled", "manual", "backfill", "asset_triggered", "asset_materialization")

TRIGGER_RULES = (
    "all_success",
    "all_failed",
    "all_done",
    "all_done_min_one_success",
    "all_done_setup_success",
    "all_skipped",
    "always",
    "none_failed",
    "none_failed_min_one_success",
    "none_skipped",
    "one_done",
    "one_failed",
    "one_success",
)

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

def build_metadata(dialect: str = "postgresql") -> sa.MetaData:
    """All tables for one engine.

    Args:
        dialect: ``postgresql`` or ``mysql``. MySQL gets the generated columns and its own form of the indexes.
    """
    metadata = sa.MetaData(naming_convention=NAMING)
    on_mysql = dialect == "mysql"

    def table(name: str, *items: sa.schema.SchemaItem) -> sa.Table:
        return sa.Table(name, metadata, *items, **MYSQL_OPTIONS)

    def identifier(name: str, **options: object) -> sa.Column[str]:
        return sa.Column(name, text_type(ID_LENGTH), nullable=False, **options)  # type: ignore[arg-type]

    def flag(name: str) -> sa.Column[bool]:
        return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())

    def number(name: str, default: str | None = None, nullable: bool = False) -> sa.Column[int]:
        return sa.Column(name, sa.Integer, nullable=nullable, server_default=default, autoincrement=False)

    def pool_name(**options: object) -> sa.Column[str]:
        return sa.Column("pool", text_type(POOL_LENGTH), nullable=False, **options)  # type: ignore[arg-type]

    def check(condition: str, name: str) -> sa.CheckConstraint:
        return sa.CheckConstraint(condition, name=name)

    table(
        "slot_pool",
        pool_name(primary_key=True),
        number("slots"),
        flag("include_deferred"),
        sa.Column("description", sa.Text),
        check("slots >= -1", "slots"),
    )
    table(
        "dag",
        identifier("dag_id", primary_key=True),
        flag("is_paused"),
        number("max_active_tasks", "16"),
    )
    table(
        "task",
        identifier("dag_id", primary_key=True),
        identifier("task_id", primary_key=True),
        number("max_active_tis_per_dag", nullable=True),
        number("max_active_tis_per_dagrun", nullable=True),
        pool_name(server_default="default_pool"),
        number("pool_slots", "1"),
        number("priority_weight", "1"),
        sa.Column("executor", text_type(ID_LENGTH)),
        sa.Column("trigger_rule", text_type(50), nullable=False, server_default="all_success"),
        number("retries", "0"),
        flag("is_setup"),
        flag("is_teardown"),
        sa.Column("mapped_group", text_type(ID_LENGTH)),
        sa.ForeignKeyConstraint(["dag_id"], ["dag.dag_id"], ondelete="CASCADE"),
        check("pool_slots >= 1", "pool_slots"),
        check("retries >= 0", "retries"),
        check(one_of("trigger_rule", TRIGGER_RULES), "trigger_rule"),
        check("NOT (is_setup AND is_teardown)", "setup_or_teardown"),
        check("executor <> ''", "executor"),
        *limited_tasks(on_mysql),
    )
    table(
        "task_edge",
        identifier("dag_id", primary_key=True),
        identifier("upstream_task_id", primary_key=True),
        identifier("downstream_task_id", primary_key=True),
        sa.ForeignKeyConstraint(
            ["dag_id", "upstream_task_id"], ["task.dag_id", "task.task_id"],
            name="fk_task_edge_upstream", ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["dag_id", "downstream_task_id"], ["task.dag_id", "task.task_id"],
            name="fk_task_edge_downstream", ondelete="CASCADE",
        ),
        sa.Index("ix_task_edge_downstream", "dag_id", "downstream_task_id"),
        check("upstream_task_id <> downstream_task_id", "no_loop"),
        check(within_key_bytes("dag_id", "upstream_task_id", "downstream_task_id"), "key_bytes"),
    )
    table(
        "dag_run",
        identifier("dag_id", primary_key=True),
        identifier("run_id", primary_key=True),
        sa.Column("state", text_type(50), nullable=False, server_default="queued"),
        sa.Column("run_type", text_type(50), nullable=False, server_default="scheduled"),
        sa.Column("logical_date", time_type()),
        sa.ForeignKeyConstraint(["dag_id"], ["dag.dag_id"], ondelete="CASCADE"),
        check(one_of("state", RUN_STATES), "state"),
        check(one_of("run_type", RUN_TYPES), "run_type"),
    )
    task_instance = table(
        "task_instance",
        identifier("dag_id", primary_key=True),
        identifier("run_id", primary_key=True),
        identifier("task_id", primary_key=True),
        sa.Column("map_index", sa.Integer, primary_key=True, nullable=False, server_default="-1", autoincrement=False),
        sa.Column("state", state_type()),
        sa.Column("logical_date", time_type(), comment="copy of the dag run's: part of the selection order"),
        pool_name(server_default="default_pool"),
        number("pool_slots", "1"),
        number("priority_weight", "1"),
        sa.Column("executor", text_type(ID_LENGTH)),
        number("try_number", "0"),
        sa.Column("queued_dttm", time_type()),
        sa.Column("queued_by", text_type(ID_LENGTH)),
        sa.Column("claim_token", sa.Uuid),
        *mysql_columns(on_mysql),
        sa.ForeignKeyConstraint(
            ["dag_id", "run_id"], ["dag_run.dag_id", "dag_run.run_id"], ondelete="CASCADE"
        ),
        check("map_index >= -1", "map_index"),
        check("pool_slots >= 1", "pool_slots"),
        check("try_number >= 0", "try_number"),
        check(one_of("state", TI_STATES), "state"),
        # The empty name stands for the default executor, which is NULL here; so in task.
        check("executor <> ''", "executor"),
        # PostgreSQL's index in selection order holds the executor twice.
        check(within_key_bytes("dag_id", "run_id", "task_id", "pool", *2 * ["coalesce(executor, '')"]), "key_bytes"),
        *postgresql_checks(on_mysql),
    )
    add_selection_indexes(task_instance, on_mysql)
    add_parsing_tables(table, on_mysql)
    add_upstream(metadata)
    return metadata


def limited_tasks(on_mysql: bool) -> tuple[sa.Index, ...]:
    """Most tasks have no limit of their own: selection learns that from a small index. MySQL has no partial ones."""
    if on_mysql:
        return ()
    limited = sa.text("max_active_tis_per_dag IS NOT NULL OR max_active_tis_per_dagrun IS NOT NULL")
    return (sa.Index("ix_task_limited", "dag_id", "task_id", unique=True, postgresql_where=limited),)


def postgresql_checks(on_mysql: bool) -> tuple[sa.CheckConstraint, ...]:
    """Infinity stands for "no date" in the order of selection; MySQL has no such date."""
    return () if on_mysql else (sa.CheckConstraint("isfinite(logical_date)", name="logical_date"),)


def mysql_columns(on_mysql: bool) -> tuple[sa.Column[object], ...]:
    """Stand-ins for partial indexes and NULLS LAST; virtual, so they take room only in the indexes."""
    if not on_mysql:
        return ()
    return (
        sa.Column(
            "scheduled_pool",
            mysql.BINARY(16),
            sa.Computed("if(state = 'scheduled', left(unhex(sha2(pool, 256)), 16), NULL)", persisted=False),
        ),
        sa.Column("undated", mysql.TINYINT, sa.Computed("logical_date IS NULL", persisted=False)),
        sa.Column(
            "active", mysql.TINYINT, sa.Computed(f"if({one_of('state', ACTIVE_STATES)}, 1, NULL)", persisted=False)
        ),
        sa.Column("deferred", mysql.TINYINT, sa.Computed("state = 'deferred'", persisted=False)),
    )


def add_selection_indexes(task_instance: sa.Table, on_mysql: bool) -> None:
    """One index in selection order over scheduled rows, and what counts active rows by pool, dag run and task."""
    c = task_instance.c
    if on_mysql:
        sa.Index(
            "ix_task_instance_selection",
            c.scheduled_pool, c.priority_weight.desc(), c.undated, c.logical_date,
            c.dag_id, c.run_id, c.task_id, c.map_index, c.pool_slots,
        )
        sa.Index("ix_task_instance_active", c.state, c.pool, c.pool_slots)
        sa.Index("ix_task_instance_holders", c.active, c.dag_id, c.run_id, c.task_id, c.deferred)
        return
    # Ascending keys alone, none of them NULL: one row comparison then says where a line is to be read on.
    sa.Index(
        "ix_task_instance_selection",
        c.pool, c.pool_slots, sa.text("coalesce(executor, '')"),
        sa.text("(-1 - priority_weight)"), sa.text("coalesce(logical_date, 'infinity')"),
        c.dag_id, c.run_id, c.task_id, c.map_index,
        postgresql_where=sa.text("state = 'scheduled'"),
        postgresql_include=["executor", "priority_weight", "logical_date"],
    )
    # One index for each way of counting, and no count can be taken to another's: IS NOT NULL holds for all rows, but
    # only a condition on the column proves it. Else, where ANALYZE meets no active row, all look empty and equal.
    active = one_of("state", ACTIVE_STATES)
    sa.Index(
        "ix_task_instance_active", c.dag_id, c.run_id, c.task_id,
        postgresql_where=sa.text(f"{active} AND run_id IS NOT NULL"), postgresql_include=["state"],
    )
    sa.Index(
        "ix_task_instance_active_pool", c.pool,
        postgresql_where=sa.text(f"{active} AND pool IS NOT NULL"), postgresql_include=["state", "pool_slots"],
    )
    sa.Index(
        "ix_task_instance_active_task", c.task_id, c.dag_id,
        postgresql_where=sa.text(f"{active} AND task_id IS NOT NULL"),
    )


metadata = build_metadata()
"""The tables as Postgres has them; generated queries use only columns that both engines have."""
