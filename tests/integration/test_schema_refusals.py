"""What is not selectq's, or not of this version, is refused with a reason and a fix, and stays as it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from selectq import migrate
from selectq.database import create_engine
from selectq.errors import (
    DatabaseUnreachableError,
    InvalidParameterError,
    MigrationFailedError,
    SchemaVersionError,
    UnsupportedDatabaseError,
)
from selectq.revisions import VERSION_TABLE, revisions
from selectq.schema import metadata
from selectq.schema_status import Status, explain
from tests.schema_dump import dump

VERSION = sa.table(VERSION_TABLE, sa.column("version_num"))


def refuse_everything(engine: sa.Engine, message: str) -> None:
    """Up, down and check all refuse with this message, and change nothing."""
    before = dump(engine)
    calls: list[Callable[[], object]] = [
        lambda: migrate.upgrade(engine),
        lambda: migrate.downgrade(engine, "base"),
        lambda: migrate.migrate(engine),
        lambda: check(engine),
    ]
    for call in calls:
        with pytest.raises(SchemaVersionError, match=message):
            call()
    assert dump(engine) == before


def check(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        migrate.check_schema(connection)


def test_current_schema_passes(engine: sa.Engine) -> None:
    check(engine)


def test_no_tables(empty_engine: sa.Engine) -> None:
    with pytest.raises(SchemaVersionError, match="no selectq tables in this database; run: selectq migrate --db URL"):
        check(empty_engine)


def test_older_schema_says_what_to_run() -> None:
    older = Status("v0_1_0_01", "v0_2_0_01", ("v0_2_0_01",), "behind", ())
    assert explain(older) == (
        "the tables are at v0_1_0_01, this selectq needs v0_2_0_01; run: selectq migrate --db URL"
    )


def test_newer_schema(empty_engine: sa.Engine) -> None:
    migrate.upgrade(empty_engine)
    with empty_engine.begin() as connection:
        connection.execute(sa.update(VERSION).values(version_num="v9_0_0_01"))

    refuse_everything(empty_engine, "at v9_0_0_01, which this selectq .* does not know: .* upgrade the package")
    found = migrate.status(empty_engine)
    assert (found.current, found.state, found.pending) == ("v9_0_0_01", "newer", ())
    with empty_engine.connect() as connection:
        assert connection.scalars(sa.select(VERSION)).all() == ["v9_0_0_01"]


@pytest.mark.parametrize("name", sorted(metadata.tables))
def test_foreign_table_of_each_name(empty_engine: sa.Engine, name: str) -> None:
    sa.Table(name, sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True)).create(empty_engine)
    refuse_everything(empty_engine, f"selectq did not make them: {name}. Is this another scheduler's")
    assert migrate.status(empty_engine).state == "foreign"


def test_foreign_view(empty_engine: sa.Engine) -> None:
    with empty_engine.begin() as connection:
        connection.execute(sa.text("CREATE VIEW task_instance AS SELECT 1 AS one"))
    refuse_everything(empty_engine, "selectq did not make them: task_instance")


def test_dropped_table_is_noticed(empty_engine: sa.Engine) -> None:
    migrate.upgrade(empty_engine)
    metadata.tables["task_edge"].drop(empty_engine)
    refuse_everything(empty_engine, "do not go with the recorded revision .* or tables were dropped. Restore a backup")
    assert migrate.status(empty_engine).state == "unfinished"


def test_failure_halfway(empty_engine: sa.Engine) -> None:
    """Postgres rolls back; MySQL says what is left, refuses to guess, and works again once that is dropped."""
    on_mysql = empty_engine.dialect.name == "mysql"
    obstacle = sa.Table("obstacle", sa.MetaData(), sa.Column("id", sa.Integer))
    if on_mysql:
        obstacle.append_constraint(sa.CheckConstraint("id > 0", name="ck_task_instance_state"))
    else:
        obstacle.name = "ix_task_instance_active"
    obstacle.create(empty_engine)
    before = dump(empty_engine)

    with pytest.raises(MigrationFailedError, match=r"refused a step of the migration: .*(state|active)") as failed:
        migrate.upgrade(empty_engine)

    assert failed.match("MySQL cannot roll back .* --status" if on_mysql else "Everything was rolled back")
    if on_mysql:
        refuse_everything(empty_engine, f"drop them and {VERSION_TABLE}, then run: selectq migrate")
        left = migrate.status(empty_engine)
        assert left.state == "unfinished"
        drop(empty_engine, [*left.tables, VERSION_TABLE])
    assert dump(empty_engine) == before
    obstacle.drop(empty_engine)
    assert migrate.upgrade(empty_engine).current == revisions()[-1]


def drop(engine: sa.Engine, names: list[str]) -> None:
    reflected = sa.MetaData()
    reflected.reflect(engine, only=names)
    reflected.drop_all(engine)


@pytest.mark.parametrize("call", [migrate.status, migrate.upgrade, migrate.migrate])
@pytest.mark.parametrize("url", ["postgresql://u:secret@127.0.0.1:1/x", "mysql://u:secret@127.0.0.1:1/x"])
def test_unreachable_server(url: str, call: Callable[[sa.Engine], Status]) -> None:
    with pytest.raises(DatabaseUnreachableError, match=r"cannot connect to .*127\.0\.0\.1:1/x") as refused:
        call(create_engine(url))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("call", [migrate.status, migrate.upgrade, migrate.migrate])
def test_unsupported_server(call: Callable[[sa.Engine], Status]) -> None:
    with pytest.raises(UnsupportedDatabaseError, match="sqlite is not supported"):
        call(sa.create_engine("sqlite://", poolclass=sa.NullPool))


@pytest.mark.parametrize("engine_name", ["mysql"])
def test_mysql_url_without_database(empty_engine: sa.Engine) -> None:
    nowhere = create_engine(empty_engine.url._replace(database=None), poolclass=sa.NullPool)
    for call in (migrate.status, migrate.upgrade):
        with pytest.raises(InvalidParameterError, match="the URL names no database"):
            call(nowhere)
