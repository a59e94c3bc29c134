"""The executor against each server: types as declared, whatever the driver returns; missing tables by name."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
import sqlalchemy as sa

from selectq.catalogue import Query, default_catalogue, read_query
from selectq.errors import QueryNotFoundError, SchemaVersionError
from selectq.executor import query_for, run, run_count
from selectq.schema import build_metadata
from tests.query_files import put

TYPES = """\
-- name: selection/types
-- version: 1
-- purpose: One value of each type, as bound and as stored.
-- result: rows
-- param words: text
-- param list: json
-- column words: text
-- column nothing: text
-- column slots: integer
-- column total: integer
-- column include_deferred: boolean
-- column is_full: boolean
-- column logical_date: timestamp
-- column claim_token: uuid
-- column list: json
-- locks: none
-- isolation: any
-- limits: none
-- server: 15
-- origin: hand-written: for a test

SELECT
    CAST(:words AS {text}) AS words, -- it's :no parameter, nor is 50% one
    NULL AS nothing,
    p.slots,
    (SELECT SUM(slots) FROM slot_pool) AS total,
    p.include_deferred,
    p.slots = 0 AS is_full,
    ti.logical_date,
    ti.claim_token,
    CAST(:list AS {json}) AS list
FROM slot_pool AS p
JOIN task_instance AS ti ON ti.pool = p.pool
"""
NAMES = {"postgresql": {"text": "text", "json": "jsonb"}, "mysql": {"text": "CHAR", "json": "JSON"}}
TIME = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


@pytest.fixture
def types(engine: sa.Engine, tmp_path: Path) -> Query:
    dialect = engine.dialect.name
    text = TYPES.replace(":no", "no").format(**NAMES[dialect])
    return read_query(put(tmp_path, f"{dialect}/selection/types.v1.sql", text), tmp_path)


def test_values_come_back_as_declared(engine: sa.Engine, types: Query) -> None:
    tables = build_metadata(engine.dialect.name).tables
    in_table = TIME.replace(tzinfo=None) if engine.dialect.name == "mysql" else TIME
    with engine.begin() as connection:
        connection.execute(tables["slot_pool"].insert(), {"pool": "p", "slots": 3, "include_deferred": True})
        connection.execute(tables["dag"].insert(), {"dag_id": "d"})
        connection.execute(tables["dag_run"].insert(), {"dag_id": "d", "run_id": "r", "logical_date": in_table})
        instance = {"dag_id": "d", "run_id": "r", "task_id": "t", "pool": "p"}
        connection.execute(
            tables["task_instance"].insert(), {**instance, "logical_date": in_table, "claim_token": UUID(int=1)}
        )
        words = "it's \\ :x %s é"
        [row] = run(connection, types, words=words, list=[words, None])
    assert row == {
        "words": words,
        "nothing": None,
        "slots": 3,
        "total": 3,
        "include_deferred": True,
        "is_full": False,
        "logical_date": TIME,
        "claim_token": UUID(int=1),
        "list": [words, None],
    }
    assert {name: type(value) for name, value in row.items()} == {
        "words": str,
        "nothing": type(None),
        "slots": int,
        "total": int,
        "include_deferred": bool,
        "is_full": bool,
        "logical_date": datetime,
        "claim_token": UUID,
        "list": list,
    }


def test_null_is_none_whatever_the_type(engine: sa.Engine, types: Query) -> None:
    tables = build_metadata(engine.dialect.name).tables
    with engine.begin() as connection:
        connection.execute(tables["slot_pool"].insert(), {"pool": "p", "slots": 0})
        connection.execute(tables["dag"].insert(), {"dag_id": "d"})
        connection.execute(tables["dag_run"].insert(), {"dag_id": "d", "run_id": "r"})
        instance = {"dag_id": "d", "run_id": "r", "task_id": "t", "pool": "p"}
        connection.execute(tables["task_instance"].insert(), instance)
        [row] = run(connection, types, words=None, list=None)
    assert [name for name, value in row.items() if value is None] == [
        "words",
        "nothing",
        "logical_date",
        "claim_token",
        "list",
    ]
    assert row["is_full"] is True


def test_the_connection_decides_on_the_engine(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        assert query_for(connection, "selection/claim").dialect == engine.dialect.name
        with pytest.raises(QueryNotFoundError):
            query_for(connection, "selection/claim", 99)


@pytest.mark.parametrize("name", sorted({query.name for query in default_catalogue()} - {"parsing/clock"}))
def test_missing_tables_are_named(empty_engine: sa.Engine, name: str) -> None:
    dialect = empty_engine.dialect.name
    queries = [query for query in default_catalogue() if (query.name, query.dialect) == (name, dialect)]
    for query in queries:
        values = {field.name: {"json": [], "integer": 1}.get(field.type) for field in query.parameters}
        function = run_count if query.result == "count" else run
        with empty_engine.connect() as connection, pytest.raises(SchemaVersionError) as refused:
            function(connection, query, **values)
        assert str(refused.value).startswith(f"{query.id}: a table or column is missing (")
        assert "run 'selectq migrate --db URL' first" in str(refused.value)


def test_a_missing_column_is_named(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        if engine.dialect.name == "mysql":
            connection.execute(sa.text("ALTER TABLE slot_pool RENAME COLUMN include_deferred TO other"))
        else:
            connection.execute(sa.text("ALTER TABLE slot_pool RENAME include_deferred TO other"))
        with pytest.raises(SchemaVersionError, match="include_deferred"):
            run(connection, query_for(connection, "selection/open_pools"))


def test_other_errors_of_the_server_stay_what_they_are(engine: sa.Engine) -> None:
    with engine.connect() as connection, pytest.raises(sa.exc.DBAPIError, match="(?i)json"):
        run(connection, query_for(connection, "selection/claim"), claims=float("nan"), queued_by=None)
