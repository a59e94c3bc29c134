"""URLs and server versions that are accepted, and what is said about the others."""

from __future__ import annotations

import pytest

from selectq.database import check_version, create_engine
from selectq.errors import InvalidParameterError, UnsupportedDatabaseError


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("postgresql://u@h/x", "postgresql+psycopg"),
        ("postgres://u@h/x", "postgresql+psycopg"),
        ("postgresql+psycopg://u@h/x", "postgresql+psycopg"),
        ("mysql://u@h/x", "mysql+pymysql"),
        ("mysql+pymysql://u@h/x", "mysql+pymysql"),
    ],
)
def test_urls_get_the_drivers_that_ship_with_it(url: str, driver: str) -> None:
    assert create_engine(url).url.drivername == driver


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://", "db: 'sqlite' is not supported; use PostgreSQL 15 or later, or MySQL 8.4 or later"),
        ("mariadb://u@h/x", "db: 'mariadb' is not supported"),
        ("postgresql+asyncpg://u@h/x", "db: driver 'postgresql+asyncpg' is not supported; write postgresql://"),
        ("mysql+mysqldb://u@h/x", "db: driver 'mysql+mysqldb' is not supported; write mysql://"),
    ],
)
def test_other_databases_and_drivers_are_refused(url: str, message: str) -> None:
    with pytest.raises(UnsupportedDatabaseError) as caught:
        create_engine(url)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("url", ["", "localhost", "://", "postgresql:/x"])
def test_what_is_no_url_is_said_to_be_none(url: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"db: not a database URL; expected postgresql://"):
        create_engine(url)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("postgresql", "PostgreSQL 18.6 (Debian 18.6-1) on x86_64-pc-linux-gnu, compiled by gcc 15.2.0, 64-bit"),
        ("postgresql", "PostgreSQL 15.0 on aarch64-unknown-linux-gnu"),
        ("mysql", "9.7.4-2"),
        ("mysql", "8.4.0"),
    ],
)
def test_supported_servers(dialect: str, text: str) -> None:
    check_version(dialect, text)


@pytest.mark.parametrize(
    ("dialect", "text", "message"),
    [
        (
            "postgresql",
            "PostgreSQL 14.18 on x86_64",
            "this server is PostgreSQL 14.18 on x86_64; selectq needs PostgreSQL 15",
        ),
        ("postgresql", "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)", "this server is CockroachDB"),
        ("postgresql", "PostgreSQL 15.2-YB-2.25.0.0-b0 on x86_64", "this server is YugabyteDB"),
        ("mysql", "8.0.43", "this server is MySQL 8.0.43; selectq needs MySQL 8.4 or later"),
        ("mysql", "5.7.44-log", "this server is MySQL 5.7.44-log"),
        ("mysql", "11.8.2-MariaDB-1", "this server is MariaDB (11.8.2-MariaDB-1); selectq needs MySQL"),
        ("mysql", "8.0.11-TiDB-v8.5.0", "this server is TiDB"),
        ("mysql", "gibberish", "this server is MySQL gibberish"),
    ],
)
def test_other_servers_are_refused(dialect: str, text: str, message: str) -> None:
    with pytest.raises(UnsupportedDatabaseError) as caught:
        check_version(dialect, text)
    assert str(caught.value).startswith(message)
