"""The migrations: one head, up and down on every engine, and exactly the tables that selectq.schema describes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from pytest_alembic.tests import (
    test_model_definitions_match_ddl,
    test_single_head_revision,
    test_up_down_consistency,
    test_upgrade,
)

from selectq import migrate
from selectq import revisions as shipped
from selectq.database import create_engine
from selectq.errors import InvalidParameterError
from selectq.schema import build_metadata
from tests.schema_dump import dump

__all__ = [
    "test_model_definitions_match_ddl",
    "test_single_head_revision",
    "test_up_down_consistency",
    "test_upgrade",
]

# MySQL prints a generated column's expression in its own words; the dump tells whether it is the same, Alembic cannot.
pytestmark = pytest.mark.filterwarnings("ignore:Computed default on (task_instance|dag_file):UserWarning")

HEAD = shipped.revisions()[-1]


@pytest.fixture
def alembic_config() -> Config:
    return shipped.alembic_config()


@pytest.fixture
def alembic_engine(empty_engine: sa.Engine) -> sa.Engine:
    return empty_engine


def test_migrations_make_what_the_model_says(empty_engine: sa.Engine) -> None:
    migrate.upgrade(empty_engine)
    migrated = dump(empty_engine, without_version=True)
    migrate.downgrade(empty_engine, "base")

    build_metadata(empty_engine.dialect.name).create_all(empty_engine)

    assert migrated == dump(empty_engine)


def test_up_down_up_leaves_no_trace(empty_engine: sa.Engine) -> None:
    nothing = dump(empty_engine)
    assert migrate.upgrade(empty_engine).state == "current"
    once = dump(empty_engine)

    assert migrate.downgrade(empty_engine, "base").state == "empty"
    assert dump(empty_engine) == nothing
    migrate.upgrade(empty_engine)
    assert dump(empty_engine) == once


@pytest.mark.parametrize("revision", shipped.revisions())
def test_every_revision_can_be_reached_from_both_sides(empty_engine: sa.Engine, revision: str) -> None:
    assert migrate.upgrade(empty_engine, revision).current == revision
    from_below = dump(empty_engine)
    migrate.upgrade(empty_engine)

    assert migrate.migrate(empty_engine, revision).current == revision
    assert dump(empty_engine) == from_below


def test_printed_sql_does_what_upgrade_does(empty_engine: sa.Engine) -> None:
    nothing = dump(empty_engine)
    migrate.upgrade(empty_engine)
    migrated = dump(empty_engine)
    migrate.downgrade(empty_engine, "base")

    run_script(empty_engine, migrate.render_sql(empty_engine.dialect.name))
    assert dump(empty_engine) == migrated
    assert migrate.status(empty_engine).state == "current"

    run_script(empty_engine, migrate.render_sql(empty_engine.dialect.name, "base"))
    assert dump(empty_engine) == nothing


def test_up_and_down_go_one_way_only(empty_engine: sa.Engine) -> None:
    assert migrate.downgrade(empty_engine, "head").state == "empty"
    migrate.upgrade(empty_engine)
    rows_before = dump(empty_engine)

    assert migrate.upgrade(empty_engine, "base").state == "current"
    assert migrate.upgrade(empty_engine).state == "current"
    assert dump(empty_engine) == rows_before


def test_status_names_what_is_pending(empty_engine: sa.Engine) -> None:
    before = migrate.status(empty_engine)
    assert (before.current, before.head, before.pending, before.state, before.tables) == (
        None,
        HEAD,
        shipped.revisions(),
        "empty",
        (),
    )
    after = migrate.upgrade(empty_engine)
    assert (after.current, after.head, after.pending, after.state) == (HEAD, HEAD, (), "current")
    assert migrate.status(empty_engine) == after


def test_unknown_revision_is_named(empty_engine: sa.Engine) -> None:
    for call in (migrate.upgrade, migrate.downgrade, migrate.migrate):
        with pytest.raises(InvalidParameterError, match=f"'v9' is unknown; expected head, base or one of: .*{HEAD}"):
            call(empty_engine, "v9")
    assert migrate.status(empty_engine).state == "empty"


def test_lives_beside_another_alembic_project(empty_engine: sa.Engine) -> None:
    other = sa.MetaData()
    version = sa.Table("alembic_version", other, sa.Column("version_num", sa.String(32), primary_key=True))
    sa.Table("invoice", other, sa.Column("id", sa.Integer, primary_key=True))
    other.create_all(empty_engine)
    with empty_engine.begin() as connection:
        connection.execute(version.insert().values(version_num="29ce7909c52b"))
    theirs = dump(empty_engine)

    migrate.upgrade(empty_engine)
    with empty_engine.connect() as connection:
        command.check(shipped.alembic_config(connection=connection))
    migrate.downgrade(empty_engine, "base")

    assert dump(empty_engine) == theirs
    with empty_engine.connect() as connection:
        assert connection.scalars(sa.select(version)).all() == ["29ce7909c52b"]


@pytest.mark.parametrize("isolation_level", ["REPEATABLE READ", "AUTOCOMMIT"])
def test_threads_wait_for_each_other_whatever_the_isolation(empty_engine: sa.Engine, isolation_level: str) -> None:
    engines = [create_engine(empty_engine.url).execution_options(isolation_level=isolation_level) for _ in range(4)]
    try:
        with ThreadPoolExecutor(len(engines)) as threads:
            for call, state in ((migrate.upgrade, "current"), (migrate.downgrade, "empty")):
                goal = "head" if state == "current" else "base"
                done = list(threads.map(call, engines, [goal] * len(engines)))
                assert [status.state for status in done] == [state] * len(engines)
    finally:
        for engine in engines:
            engine.dispose()


def test_processes_wait_for_each_other(empty_engine: sa.Engine, empty_engine_url: str) -> None:
    command_line = [sys.executable, "-m", "selectq", "migrate", "--json"]
    environment = {**os.environ, "SELECTQ_DB": empty_engine_url}
    running = [subprocess.Popen(command_line, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [process.communicate()[0] for process in running]

    assert [process.returncode for process in running] == [0, 0, 0]
    assert [json.loads(answer)["state"] for answer in answers] == ["current"] * 3
    assert migrate.status(empty_engine).state == "current"


def run_script(engine: sa.Engine, script: str) -> None:
    """Run it as psql or mysql would: one statement after the other."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in script.split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement)
