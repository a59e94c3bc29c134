"""What ``selectq sql render`` prints does the same as the query that selectq runs with bound parameters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from selectq import dags, schema
from selectq.catalogue import Query, default_catalogue
from selectq.cli import main
from selectq.defining import store_dag
from selectq.executor import FROM_DATABASE, query_for, run, run_count
from tests.oracle import Dag, Instance, Pool, Run, Task, World
from tests.world_tables import states, store

DAG = "it's \\ \"d\" 'é' %s %(x)s :page\n\t-- /* `a` */ \\' 😀"
RUN, TASK, POOL = "run\\", "'task'", "\\'pool"
UP = '"up"'
TOKENS = ["0" * 31 + "1", "a" * 32]
KEYS = [{"dag_id": DAG, "run_id": RUN, "task_id": TASK, "map_index": index} for index in (0, 1)]
VALUES: dict[str, Any] = {
    "admitted": [[DAG, RUN, TASK, 0]],
    "after_dag_id": "",
    "after_logical_date": None,
    "after_map_index": -2,
    "after_priority_weight": 2**31,
    "after_run_id": "",
    "after_task_id": "",
    "after_undated": 0,
    "claimed": [[*key.values(), token] for key, token in zip(KEYS, TOKENS, strict=True)],
    "claims": [[*key.values(), POOL, token, True, True] for key, token in zip(KEYS, TOKENS, strict=True)],
    "dag_id": DAG,
    "decisions": [{"dag_id": DAG, "run_id": RUN, "task_id": UP, "map_index": -1, "state": None, "decision": "run"}],
    "depth": 4,
    "executor_slots": {"": 7, "it's \\": 1},
    "groups": [],
    "holders": {"pools": [POOL], "runs": [[DAG, RUN]], "tasks": [[DAG, TASK]]},
    "hops": 5,
    "lines": [[POOL, 2]],
    "map_index": None,
    "max_tis": 2,
    "page": 16,
    "page_size": 3,
    "per_slot": 2,
    "pool": POOL,
    "queued_by": DAG,
    "queued_dttm": datetime(2026, 2, 3, 4, 5, 6, 789012, tzinfo=UTC),
    "reach": 100,
    "room": 2,
    "run_id": RUN,
    "runs": [{"dag_id": DAG, "run_id": RUN}],
    "task_id": TASK,
    "task_ids": [UP, TASK],
    "waiting": True,
}
SPECIAL: dict[str, dict[str, Any]] = {
    "selection/blocked_by": {"admitted": [[DAG, RUN, TASK, 0], [DAG, RUN, TASK, 1]]},
    "selection/held_claims": {"claimed": [[DAG, RUN, "active", -1, TOKENS[0]], [DAG, RUN, TASK, 0, TOKENS[1]]]},
}
CLOCK = {"queued_dttm"}
"""Columns that tell the time of the statement."""


@pytest.fixture
def connection(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One full run of awkward names; what a test does is rolled back."""
    instances = {(DAG, RUN, TASK, index): Instance("scheduled", POOL) for index in range(4)}
    instances[DAG, RUN, UP, -1] = Instance(None, POOL)
    instances[DAG, RUN, "active", -1] = Instance("running", POOL, executor="it's \\")
    world = World(
        {POOL: Pool(3), "default_pool": Pool(-1)},
        {DAG: Dag(3)},
        {(DAG, TASK): Task(2, None)},
        {(DAG, RUN): Run("running", datetime(2026, 1, 1, tzinfo=UTC))},
        instances,
    )
    tasks = [dags.Task(UP), dags.Task(TASK, [UP], is_mapped=True, max_active_tis_per_dag=2)]
    with engine.begin() as filling:
        store(filling, world)
        store_dag(filling, dags.Dag(DAG, tasks, max_active_tasks=3))
        ti = schema.metadata.tables["task_instance"]
        filling.execute(sa.update(ti).where(ti.c.state == "running").values(claim_token=UUID(TOKENS[0])))
    with engine.connect() as open_connection:
        yield open_connection


def parameters_of(query: Query) -> dict[str, Any]:
    values = VALUES | SPECIAL.get(query.name, {})
    return {field.name: values[field.name] for field in query.parameters}


def rendered(query: Query) -> str:
    kinds = {field.name: field.type for field in query.parameters}
    given = []
    for name, value in parameters_of(query).items():
        text = json.dumps(value) if kinds[name] == "json" else str(value)
        given += ["--param", name if value is None else f"{name}={text}"]
    done = CliRunner().invoke(main, ["sql", "render", query.name, "--engine", query.dialect, *given])
    assert done.exit_code == 0, done.output
    return done.stdout


def run_text(connection: sa.Connection, sql: str) -> sa.CursorResult[Any]:
    """Send text to the server as a client would: no parameters, nothing escaped."""
    return connection.exec_driver_sql(sql, execution_options={"no_parameters": True})


def without_clock(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in CLOCK} for row in rows]


def names(dialect: str) -> set[str]:
    selecting = (query for query in default_catalogue() if query.name.startswith("selection/"))
    return {query.name for query in selecting if query.result != "count" and query.dialect == dialect}


SHARED = sorted(names("postgresql") & names("mysql"))
MYSQL_ONLY = sorted(names("mysql") - names("postgresql"))


@pytest.mark.parametrize("name", SHARED)
def test_rows_are_the_same(connection: sa.Connection, name: str) -> None:
    compare_rows(connection, name)


@pytest.mark.parametrize("name", MYSQL_ONLY)
@pytest.mark.parametrize("engine_name", ["mysql"])
def test_rows_of_mysql_are_the_same(connection: sa.Connection, name: str) -> None:
    compare_rows(connection, name)


def compare_rows(connection: sa.Connection, name: str) -> None:
    query = query_for(connection, name)
    parameters = parameters_of(query)

    bound = run(connection, query, **parameters)
    after_bound = states(connection)
    connection.rollback()
    result = run_text(connection, rendered(query))
    literal = [
        {
            field.name: None if value is None else FROM_DATABASE[field.type](value)
            for field, value in zip(query.columns, row, strict=True)
        }
        for row in result
    ]

    assert bound, "a comparison of nothing"
    assert list(result.keys()) == [field.name for field in query.columns]
    assert without_clock(literal) == without_clock(bound)
    assert states(connection) == after_bound


@pytest.mark.parametrize("engine_name", ["mysql"])
def test_changes_are_the_same(connection: sa.Connection) -> None:
    query = query_for(connection, "selection/mark_queued")
    parameters = parameters_of(query)
    rows = sa.text("SELECT * FROM task_instance ORDER BY map_index")

    counted = run_count(connection, query, **parameters | {"queued_dttm": VALUES["queued_dttm"].replace(tzinfo=None)})
    bound = connection.execute(rows).all()
    connection.rollback()
    assert run_text(connection, rendered(query)).rowcount == counted == 2
    assert connection.execute(rows).all() == bound
    assert {row.queued_by for row in bound} == {None, DAG}


@pytest.mark.parametrize("name", SHARED)
def test_defaults_run_on_empty_tables(engine: sa.Engine, name: str) -> None:
    run_with_defaults(engine, name)


@pytest.mark.parametrize("name", MYSQL_ONLY)
@pytest.mark.parametrize("engine_name", ["mysql"])
def test_defaults_of_mysql_run_on_empty_tables(engine: sa.Engine, name: str) -> None:
    run_with_defaults(engine, name)


def run_with_defaults(engine: sa.Engine, name: str) -> None:
    with engine.connect() as connection:
        query = query_for(connection, name)
        needed = {"claims": "[]", "claimed": "[]", "lines": "[]", "holders": "{}", "queued_by": "me"}
        needed |= {"dag_id": "d", "run_id": "r", "task_id": "t"}
        given = [f"--param={key}={needed[key]}" for key in needed if key in query.parameter_names]
        done = CliRunner().invoke(main, ["sql", "render", name, "--engine", query.dialect, *given])
        assert done.exit_code == 0, done.output
        rows = run_text(connection, done.stdout).all()
    always = {"selection/open_pools": 1, "selection/lock_holders": 3, "selection/lock_free_holders": 3}
    assert len(rows) == always.get(name, 0)
