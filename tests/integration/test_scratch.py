"""A place of one's own on a server, dropped whatever happens."""

from __future__ import annotations

import logging
import secrets
import socket

import pytest
import sqlalchemy as sa
from sqlalchemy.schema import DropSchema

from selectq import migrate
from selectq.database import create_engine
from selectq.errors import DatabaseUnreachableError, SelectqError, UnsupportedDatabaseError
from selectq.scratch import PREFIX, scratch_database, scratch_or_embedded


def place(engine: sa.Engine) -> str:
    """The schema or database in which the engine works."""
    with engine.connect() as connection:
        name = connection.dialect.default_schema_name
    assert name is not None
    return str(name)


def places(url: str) -> list[str]:
    engine = create_engine(url)
    names = sa.inspect(engine).get_schema_names()
    engine.dispose()
    return names


def test_it_has_the_tables_and_is_dropped(empty_engine_url: str) -> None:
    with scratch_database(empty_engine_url) as engine:
        name = place(engine)
        assert name.startswith(PREFIX)
        assert name in places(empty_engine_url)
        assert "task_instance" in sa.inspect(engine).get_table_names()
        with engine.connect() as connection:
            migrate.check_schema(connection)
    assert name not in places(empty_engine_url)


def test_the_users_own_tables_are_not_touched(engine: sa.Engine, engine_url: str) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO dag (dag_id) VALUES ('mine')"))
    with scratch_database(engine_url) as scratch, scratch.begin() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM dag")) == 0
        connection.execute(sa.text("INSERT INTO dag (dag_id) VALUES ('theirs')"))
    with engine.connect() as connection:
        assert list(connection.scalars(sa.text("SELECT dag_id FROM dag"))) == ["mine"]


def test_without_tables(empty_engine_url: str) -> None:
    with scratch_database(empty_engine_url, migrated=False) as engine:
        assert sa.inspect(engine).get_table_names() == []


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_it_is_dropped_after_an_error(empty_engine_url: str, error: type[BaseException]) -> None:
    names = []

    def fail_inside() -> None:
        with scratch_database(empty_engine_url) as engine, engine.begin() as connection:
            names.append(place(engine))
            connection.execute(sa.text("INSERT INTO dag (dag_id) VALUES ('half done')"))
            raise error

    with pytest.raises(error):
        fail_inside()
    assert not set(names) & set(places(empty_engine_url))


def test_a_place_that_cannot_be_made(empty_engine_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    same = secrets.token_hex(6)
    monkeypatch.setattr(secrets, "token_hex", lambda count: same)
    with scratch_database(empty_engine_url) as engine:
        refused = rf"db: cannot create (schema|database) {PREFIX}{same} on .*exists"
        with pytest.raises(SelectqError, match=refused), scratch_database(empty_engine_url):
            pass
        assert "task_instance" in sa.inspect(engine).get_table_names()


def drop(url: str, name: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(DropSchema(name, cascade=engine.dialect.name == "postgresql"))
    engine.dispose()


def test_one_that_cannot_be_dropped_is_named(empty_engine_url: str) -> None:
    left_behind = rf"{PREFIX}\w+ is left behind"
    with pytest.raises(SelectqError, match=left_behind), scratch_database(empty_engine_url) as engine:
        drop(empty_engine_url, place(engine))


def test_the_first_error_is_the_one_that_is_seen(empty_engine_url: str, caplog: pytest.LogCaptureFixture) -> None:
    def fail_inside() -> None:
        with scratch_database(empty_engine_url) as engine:
            drop(empty_engine_url, place(engine))
            raise ZeroDivisionError

    with caplog.at_level(logging.WARNING), pytest.raises(ZeroDivisionError):
        fail_inside()
    assert "is left behind" in caplog.text


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"postgresql://user@127.0.0.1:{taken.getsockname()[1]}/db"
        with pytest.raises(DatabaseUnreachableError, match="db: cannot connect"), scratch_database(url):
            pass


def test_another_kind_of_database() -> None:
    with pytest.raises(UnsupportedDatabaseError, match="sqlite"), scratch_database("sqlite://"):
        pass


def test_an_embedded_one_without_a_url() -> None:
    with scratch_or_embedded(None) as engine:
        assert engine.dialect.name == "postgresql"
        assert "task_instance" in sa.inspect(engine).get_table_names()


def test_own_connection_options_stay(empty_engine_url: str) -> None:
    url = sa.make_url(empty_engine_url)
    if url.get_backend_name() == "postgresql":
        url = url.update_query_dict({"options": "-c statement_timeout=7s"})
    with scratch_database(url) as engine, engine.connect() as connection:
        assert "task_instance" in sa.inspect(connection).get_table_names()
        if url.get_backend_name() == "postgresql":
            assert connection.scalar(sa.text("SHOW statement_timeout")) == "7s"
            assert connection.scalar(sa.text("SHOW timezone")) == "UTC"
