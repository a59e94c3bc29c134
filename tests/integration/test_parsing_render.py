"""What ``selectq sql render`` prints of the parse queue's queries does the same as the query with bound parameters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from selectq.catalogue import Query, default_catalogue
from selectq.cli import main
from selectq.executor import FROM_DATABASE, query_for, run, run_count
from selectq.parsing import Arrival, FoundFile, ParseQueue, Settings
from selectq.schema import metadata

PATH = "it's \\ \"d\" 'é' %s %(x)s :page\n\t-- /* `a` */ \\' 😀"
START = datetime(2026, 2, 3, 4, 5, 6, 789012, tzinfo=UTC)
TABLES = ("dag_file", "parse_request", "parse_payload", "parse_state")
TOKENS = ["0" * 31 + "1", "a" * 32]
NAMES = sorted({query.name for query in default_catalogue() if query.name.startswith("parsing/")})
NOTHING_TO_DO = {"parsing/add_state"}


@pytest.fixture
def connection(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Something in every lane, one claim, a refill that is served; what a test does is rolled back."""
    times = iter([START - timedelta(hours=1)] * 9 + [START] * 99)
    queue = ParseQueue(engine, Settings(), clock=lambda: next(times))
    queue.scan("b", [FoundFile(path, START - timedelta(days=1)) for path in (PATH, "claimed", "read", "other")])
    queue.request("b", "read")
    queue.finish(queue.claim(1)[0])
    queue.enqueue([Arrival("b", "claimed", "dag_callback", PATH)])
    queue.claim(1)
    queue.enqueue([Arrival("b", path, "dag_callback", {PATH: path}) for path in ("claimed", PATH)])
    queue.enqueue([Arrival("b", "claimed", "sla_callback", 1), Arrival("b", PATH, "requested")])
    table = metadata.tables["dag_file"]
    with engine.begin() as changing:
        changing.execute(sa.update(table).where(table.c.path == "read").values(mtime=sa.func.current_timestamp()))
    with engine.connect() as open_connection:
        yield open_connection


def values(connection: sa.Connection) -> dict[str, Any]:
    """A value for every parameter that there is."""
    table = metadata.tables["dag_file"]
    rows = {row.path: row for row in connection.execute(sa.select(table))}
    ids = {path: row.file_id for path, row in rows.items()}
    free = [ids[PATH], ids["other"]]
    token = rows["claimed"].claim_token.hex
    found = [{"bundle": "b", "path": path, "mtime": "2026-02-03 04:05:06", "digest": None} for path in (PATH, "new")]
    arrivals = [{"file_id": each, "lane": "priority", "kind": "dag_callback"} for each in free]
    return {
        "after_hash": "",
        "arrivals": arrivals,
        "breather_at": START,
        "breather_up_to": 5,
        "breathers": 7,
        "bundle": "b",
        "claimed_by": PATH,
        "claims": [{"file_id": each, "claim_token": t, "parse": True} for each, t in zip(free, TOKENS, strict=True)],
        "file_ids": [ids["claimed"], ids[PATH]],
        "files": found,
        "given_back": 1,
        "listed_at": START,
        "max_interval_ms": 120_000,
        "min_interval_ms": 30_000,
        "now": START + timedelta(hours=1),
        "page": 9,
        "page_size": 9,
        "payloads": [{**arrival, "payload": json.dumps(PATH)} for arrival in arrivals[:1]],
        "priority_slots": 2,
        "results": [{"file_id": ids["claimed"], "duration_ms": None, "error": PATH, "dag_ids": [PATH]}],
        "share": 500_000,
        "share_credit": 3,
        "slots": 3,
        "timeout_ms": 1,
        "up_to_hash": "f" * 64,
        "waits_since": None,
        "holding": [{"file_id": ids["claimed"], "claim_token": token}],
    }


def parameters_of(connection: sa.Connection, query: Query) -> dict[str, Any]:
    given = values(connection)
    special: dict[str, dict[str, Any]] = {
        "parsing/lock_claims": {"claims": given["holding"]},
        "parsing/take_requests": {"file_ids": given["file_ids"][1:]},
        "parsing/rebase_claims": {"now": START - timedelta(days=9)},
    }
    given |= special.get(query.name, {})
    return {field.name: given[field.name] for field in query.parameters}


def rendered(query: Query, parameters: dict[str, Any]) -> str:
    kinds = {field.name: field.type for field in query.parameters}
    given = []
    for name, value in parameters.items():
        text = json.dumps(value) if kinds[name] == "json" else str(value)
        given += ["--param", name if value is None else f"{name}={text}"]
    done = CliRunner().invoke(main, ["sql", "render", query.name, "--engine", query.dialect, *given])
    assert done.exit_code == 0, done.output
    return done.stdout


def content(connection: sa.Connection) -> dict[str, list[str]]:
    """All rows of the queue, but for their own ids: a rollback does not take back those that were given out."""
    found = {}
    for name in TABLES:
        table = metadata.tables[name]
        columns = [column for column in table.c if not column.primary_key]
        found[name] = sorted(str(tuple(row)) for row in connection.execute(sa.select(*columns)))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_same_is_done(connection: sa.Connection, name: str) -> None:
    query = query_for(connection, name)
    parameters = parameters_of(connection, query)
    bound = {
        key: value.replace(tzinfo=None) if isinstance(value, datetime) and query.dialect == "mysql" else value
        for key, value in parameters.items()
    }
    before = content(connection)
    sql = rendered(query, parameters)

    if query.result == "count":
        counted = run_count(connection, query, **bound)
        after = content(connection)
        connection.rollback()
        result = connection.exec_driver_sql(sql, execution_options={"no_parameters": True})
        assert result.rowcount == counted
        assert content(connection) == after
        assert (after != before) == (name not in NOTHING_TO_DO), "a comparison of nothing"
        return
    rows = run(connection, query, **bound)
    connection.rollback()
    result = connection.exec_driver_sql(sql, execution_options={"no_parameters": True})
    literal = [
        {
            field.name: None if value is None else FROM_DATABASE[field.type](value)
            for field, value in zip(query.columns, row, strict=True)
        }
        for row in result
    ]
    assert rows, "a comparison of nothing"
    if name != "parsing/clock":
        assert literal == rows
    assert content(connection) == before


@pytest.mark.parametrize("engine_name", ["postgresql", "mysql"])
@pytest.mark.parametrize("name", ["due", "waiting", "lanes", "metrics", "clock"])
def test_defaults_run_on_empty_tables(engine: sa.Engine, name: str) -> None:
    done = CliRunner().invoke(main, ["sql", "render", f"parsing/{name}", "--engine", engine.dialect.name])
    assert done.exit_code == 0, done.output
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(done.stdout, execution_options={"no_parameters": True}).all()
    assert len(rows) == {"lanes": 3, "metrics": 1, "clock": 1}.get(name, 0)
