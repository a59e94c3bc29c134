"""JSON that the caller gives, as rows: the one thing that the engines spell differently in generated queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from selectq.schema import ID_LENGTH

BYTES = "COLLATE utf8mb4_0900_bin"
TEXT_KEYS = ("dag_id", "run_id", "task_id")


def raw(sql: str, *columns: str) -> sa.TextualSelect:
    return sa.text(sql).columns(*(sa.column(name) for name in columns))


def keys(dialect: str, name: str) -> sa.CTE:
    """Rows (dag_id, run_id, task_id, map_index) of a parameter ``[[dag_id, run_id, task_id, map_index], ...]``."""
    if dialect == "mysql":
        paths = ", ".join(f"{key} VARCHAR({ID_LENGTH}) PATH '$[{place}]'" for place, key in enumerate(TEXT_KEYS))
        bare = ", ".join(f"j.{key} {BYTES} AS {key}" for key in TEXT_KEYS)
        sql = (
            f"SELECT {bare}, j.map_index "
            f"FROM JSON_TABLE(:{name}, '$[*]' COLUMNS ({paths}, map_index INT PATH '$[3]')) AS j"
        )
    else:
        paths = ", ".join(f"CAST(j.value ->> {place} AS TEXT) AS {key}" for place, key in enumerate(TEXT_KEYS))
        sql = (
            f"SELECT {paths}, CAST(j.value ->> 3 AS INTEGER) AS map_index "
            f"FROM jsonb_array_elements(CAST(:{name} AS JSONB)) AS j"
        )
    return raw(sql, *TEXT_KEYS, "map_index").cte("given")


def runs(dialect: str, name: str) -> sa.CTE:
    """Rows (dag_id, run_id) of a parameter ``[{"dag_id", "run_id"}, ...]``."""
    columns = ("dag_id", "run_id")
    if dialect == "mysql":
        paths = ", ".join(f"{key} VARCHAR({ID_LENGTH}) PATH '$.{key}'" for key in columns)
        bare = ", ".join(f"j.{key} {BYTES} AS {key}" for key in columns)
        sql = f"SELECT {bare} FROM JSON_TABLE(:{name}, '$[*]' COLUMNS ({paths})) AS j"
    else:
        bare = ", ".join(f"j.{key}" for key in columns)
        types = ", ".join(f"{key} TEXT" for key in columns)
        sql = f"SELECT {bare} FROM jsonb_to_recordset(CAST(:{name} AS JSONB)) AS j({types})"
    return raw(sql, *columns).cte("given")


def texts(dialect: str, name: str, column: str) -> sa.CTE:
    """Rows (column) of a parameter that is a list of texts."""
    if dialect == "mysql":
        sql = (
            f"SELECT j.{column} {BYTES} AS {column} "
            f"FROM JSON_TABLE(:{name}, '$[*]' COLUMNS ({column} VARCHAR({ID_LENGTH}) PATH '$')) AS j"
        )
    else:
        sql = f"SELECT j.{column} FROM jsonb_array_elements_text(CAST(:{name} AS JSONB)) AS j({column})"
    return raw(sql, column).cte("listed")


def executor_limit(dialect: str) -> sa.CTE:
    """Rows (executor, free) of the parameter ``executor_slots``."""
    if dialect == "mysql":
        sql = (
            f"SELECT j.executor {BYTES} AS executor, "
            "CAST(JSON_EXTRACT(:executor_slots, CONCAT('$.', JSON_QUOTE(j.executor))) AS SIGNED) AS free "
            "FROM JSON_TABLE(JSON_KEYS(:executor_slots), '$[*]' COLUMNS "
            f"(executor VARCHAR({ID_LENGTH}) PATH '$')) AS j"
        )
    else:
        sql = (
            "SELECT j.key AS executor, CAST(j.value AS BIGINT) AS free "
            "FROM jsonb_each_text(CAST(:executor_slots AS JSONB)) AS j"
        )
    return raw(sql, "executor", "free").cte("executor_limit")


def json_array(dialect: str, parts: Sequence[sa.ColumnElement[Any]]) -> sa.ColumnElement[Any]:
    return sa.func.json_array(*parts) if dialect == "mysql" else sa.func.jsonb_build_array(*parts)
