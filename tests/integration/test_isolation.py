"""The fixtures lend every test a database in which nobody was before."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from selectq.database import create_engine
from selectq.schema import build_metadata
from tests.servers.databases import DELETE_UP_TO, Databases
from tests.servers.state import busy_connections


def pools(engine: sa.Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.execute(sa.text("SELECT pool FROM slot_pool")).scalars())


@pytest.mark.parametrize("visit", [1, 2])
def test_rows_of_another_test_are_not_seen(engine: sa.Engine, visit: int) -> None:
    assert pools(engine) == []
    with engine.begin() as connection:
        connection.execute(build_metadata(engine.dialect.name).tables["slot_pool"].insert(), {"pool": "p", "slots": 1})
    assert pools(engine) == ["p"]


@pytest.mark.parametrize("visit", [1, 2])
def test_many_rows_of_another_test_are_not_seen(engine: sa.Engine, visit: int) -> None:
    assert pools(engine) == []
    rows = [{"pool": f"p{number}", "slots": 1} for number in range(DELETE_UP_TO + 1)]
    with engine.begin() as connection:
        connection.execute(build_metadata(engine.dialect.name).tables["slot_pool"].insert(), rows)


@pytest.mark.parametrize("visit", [1, 2])
def test_another_test_may_break_the_schema(engine: sa.Engine, visit: int) -> None:
    tables = set(sa.inspect(engine).get_table_names())
    assert set(build_metadata(engine.dialect.name).tables) < tables
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE task_edge"))


@pytest.mark.parametrize("visit", [1, 2])
def test_an_empty_database_has_no_tables(empty_engine: sa.Engine, visit: int) -> None:
    assert sa.inspect(empty_engine).get_table_names() == []
    with empty_engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE left_behind (id INTEGER)"))


def test_a_database_with_an_open_transaction_is_not_lent_again(
    databases: dict[str, Databases], engine_name: str
) -> None:
    mine = databases[engine_name]
    name = mine.lend(migrated=True)
    engine = create_engine(mine.url(name), poolclass=sa.NullPool)
    with engine.connect() as left_open, engine.connect() as before:
        # What is looked at now must not be what is found in a moment.
        assert busy_connections(before) == 0
        left_open.execute(sa.text("SELECT pool FROM slot_pool"))
        mine.take_back(name, migrated=True)
        left_open.invalidate()
    again = mine.lend(migrated=True)
    mine.take_back(again, migrated=True)
    assert again != name
