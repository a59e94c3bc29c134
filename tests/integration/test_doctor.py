"""``selectq doctor`` and the probe at the start of a pass: what a server must show, and what is said if it does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from selectq.cli import main
from selectq.database import create_engine
from selectq.errors import DatabaseUnreachableError, UnsupportedDatabaseError
from selectq.scheduler_pass import SchedulerPass
from tests.servers.state import end_session


def doctor(url: str, *arguments: str) -> Any:
    return CliRunner().invoke(main, ["doctor", "--db", url, *arguments])


def findings(url: str) -> dict[str, dict[str, str]]:
    lines = doctor(url, "--json").stdout.splitlines()
    return {row["topic"]: row for row in map(json.loads, lines)}


def test_a_fit_database_is_found_fit(engine_url: str) -> None:
    shown = doctor(engine_url)
    assert shown.exit_code == 0, shown.output
    found = findings(engine_url)
    assert {"server", "schema", "session", "skip locked", "clock", "indexes", "statistics"} <= found.keys()
    assert {row["verdict"] for row in found.values()} <= {"ok", "note"}
    assert found["skip locked"]["text"] == "shown by two sessions"


def test_missing_tables_are_wrong(empty_engine_url: str) -> None:
    shown = doctor(empty_engine_url)
    assert shown.exit_code == 1
    assert "selectq migrate" in shown.output
    assert "skip locked" not in findings(empty_engine_url)


def test_a_missing_index_is_wrong(engine: sa.Engine, engine_url: str) -> None:
    suffix = " ON task_instance" if engine.dialect.name == "mysql" else ""
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP INDEX ix_task_instance_selection{suffix}")
    found = findings(engine_url)["indexes"]
    assert found["verdict"] == "wrong"
    assert "ix_task_instance_selection on task_instance" in found["text"]


def ignore_skip(engine: sa.Engine) -> None:
    """Make the server look like one that reads SKIP LOCKED and does not heed it."""

    @sa.event.listens_for(engine, "before_cursor_execute", retval=True)
    def drop(connection: Any, cursor: Any, sql: str, parameters: Any, *rest: Any) -> tuple[str, Any]:
        return sql.replace(" SKIP LOCKED", ""), parameters


def ignore_locks(engine: sa.Engine) -> None:
    """Make the server look like one that takes no row locks at all."""

    @sa.event.listens_for(engine, "before_cursor_execute", retval=True)
    def drop(connection: Any, cursor: Any, sql: str, parameters: Any, *rest: Any) -> tuple[str, Any]:
        return sql.replace("FOR UPDATE", "").replace(" SKIP LOCKED", ""), parameters


@pytest.mark.parametrize("lookalike", [ignore_skip, ignore_locks])
def test_a_lookalike_is_refused_with_the_reason(engine_url: str, lookalike: Any) -> None:
    engine = create_engine(engine_url)
    lookalike(engine)
    with pytest.raises(UnsupportedDatabaseError, match="does not skip locked rows"), SchedulerPass(engine):
        pass
    engine.dispose()


@pytest.mark.parametrize("engine_name", ["mysql"])
def test_a_lax_sql_mode_is_refused(engine_url: str) -> None:
    engine = create_engine(engine_url, connect_args={"init_command": "SET sql_mode = ''"})
    with pytest.raises(UnsupportedDatabaseError, match="add STRICT_TRANS_TABLES"), SchedulerPass(engine):
        pass
    engine.dispose()


def test_a_pool_of_one_connection_is_named(engine_url: str) -> None:
    engine = create_engine(engine_url, pool_size=1, max_overflow=0, pool_timeout=0.1)
    with pytest.raises(UnsupportedDatabaseError, match="must allow two connections"), SchedulerPass(engine):
        pass
    engine.dispose()


def test_a_session_killed_in_the_probe_is_no_proof(engine_url: str) -> None:
    """Its lock is gone with it, and the other session gets the row."""
    engine = create_engine(engine_url)
    locking: list[sa.Connection] = []

    @sa.event.listens_for(engine, "before_cursor_execute")
    def kill_the_first(connection: sa.Connection, cursor: Any, sql: str, *rest: Any) -> None:
        if "FOR UPDATE" in sql:
            locking.append(connection)
            if len(locking) == 2:
                end_session(locking[0])

    with pytest.raises(DatabaseUnreachableError, match="the connection was lost"), SchedulerPass(engine):
        pass
    assert len(locking) == 2
    engine.dispose()


def test_a_second_session_that_cannot_be_opened_is_no_proof(engine_url: str) -> None:
    engine = create_engine(engine_url)
    connections: list[Any] = []

    @sa.event.listens_for(engine, "do_connect")
    def refuse_the_second(dialect: Any, record: Any, arguments: Any, options: dict[str, Any]) -> None:
        connections.append(options)
        if len(connections) == 2:
            options["port"] = 1

    with pytest.raises(DatabaseUnreachableError, match="cannot connect"), SchedulerPass(engine):
        pass
    assert len(connections) == 2
    engine.dispose()


def test_the_probe_runs_once_for_an_engine(engine: sa.Engine) -> None:
    statements: list[str] = []
    sa.event.listen(engine, "before_cursor_execute", lambda c, cursor, sql, *rest: statements.append(sql))
    for _ in range(2):
        with SchedulerPass(engine) as p:
            p.select()
    assert sum("FOR UPDATE" in sql for sql in statements) == 2


def test_a_connection_that_is_lost_during_the_probe_is_no_fault_of_the_server(engine_url: str) -> None:
    engine = create_engine(engine_url)

    @sa.event.listens_for(engine, "before_cursor_execute")
    def cut(connection: sa.Connection, cursor: Any, sql: str, *rest: Any) -> None:
        if "FOR UPDATE" in sql:
            driver: Any = connection.connection.driver_connection
            (driver.pgconn.finish if engine.dialect.name == "postgresql" else driver._force_close)()

    with pytest.raises(DatabaseUnreachableError, match="the connection was lost"), SchedulerPass(engine):
        pass
    engine.dispose()
