"""Engines as selectq needs them: drivers, UTC, READ COMMITTED, and the check that the server is one it supports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.engine import make_url

from selectq.errors import DatabaseUnreachableError, InvalidParameterError, UnsupportedDatabaseError

DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg", "mysql": "mysql+pymysql"}
CONNECT_TIMEOUT = 10
# The planner can't know how few rows the walk of a selection holds: it may compile each one for a second (jit). And it
# should follow an index where there is one, even while it thinks that there are few rows (enable_seqscan) or that few
# pages are visible to all (random_page_cost; 1.1 is usual where data is in memory).
PLANNER_SETTINGS = {"jit": "off", "enable_seqscan": "off", "random_page_cost": "1.1"}
SETTINGS = {"timezone": "UTC", **PLANNER_SETTINGS}
MYSQL_ARGUMENTS: dict[str, Any] = {
    "init_command": "SET time_zone = '+00:00'",
    "charset": "utf8mb4",
    "connect_timeout": CONNECT_TIMEOUT,
}
READ_COMMITTED = "READ COMMITTED"
DEFAULT_ISOLATION: WeakKeyDictionary[sa.Engine, str] = WeakKeyDictionary()
LOWEST = {"postgresql": (15,), "mysql": (8, 4)}
# They speak the protocol, but lock or compare in ways of their own.
LOOKALIKES = {"MariaDB": "MariaDB", "TiDB": "TiDB", "CockroachDB": "CockroachDB", "-YB-": "YugabyteDB"}
NAMES = {"postgresql": "PostgreSQL", "mysql": "MySQL"}


def create_engine(
    url: str | sa.URL, settings: Mapping[str, str] | None = None, *, proxy: bool = False, **options: Any
) -> sa.Engine:
    """Make an engine for a ``postgresql://`` or ``mysql://`` URL, on the drivers that selectq ships with.

    Sessions run in UTC and READ COMMITTED: a claim counts what others have committed after it has locked the holders.

    Args:
        settings: further session settings on PostgreSQL, such as ``search_path``; those in the URL's ``options`` stay.
        proxy: a proxy such as pgbouncer may give each transaction another session of PostgreSQL: keep nothing in the
            session, neither settings nor prepared statements. A pass sets what it needs in each transaction.
        options: for ``sqlalchemy.create_engine``.

    Raises:
        InvalidParameterError: the URL can't be read, or there are settings although a proxy would lose them.
        UnsupportedDatabaseError: the URL names another kind of database.
    """
    try:
        parsed = make_url(url)
    except sa.exc.ArgumentError:
        raise InvalidParameterError(
            "db", "not a database URL; expected postgresql://user:password@host:port/name or mysql://..."
        ) from None
    dialect = parsed.drivername.split("+")[0]
    if dialect not in DRIVERS:
        raise UnsupportedDatabaseError(
            f"db: {dialect!r} is not supported; use PostgreSQL {dotted('postgresql')} or later, "
            f"or MySQL {dotted('mysql')} or later"
        )
    if "+" in parsed.drivername and parsed.drivername != DRIVERS[dialect]:
        raise UnsupportedDatabaseError(
            f"db: driver {parsed.drivername!r} is not supported; write {dialect}:// (which means {DRIVERS[dialect]}://)"
        )
    parsed = parsed.set(drivername=DRIVERS[dialect])
    if dialect == "mysql":
        arguments = dict(MYSQL_ARGUMENTS)
    elif proxy:
        if settings:
            raise InvalidParameterError("settings", "would be lost behind a proxy; set them for the role or database")
        arguments = {"prepare_threshold": None, "connect_timeout": CONNECT_TIMEOUT}
    else:
        # psycopg takes what is given here instead of the URL's.
        own = parsed.query.get("options", ())
        words = [own] if isinstance(own, str) else list(own)
        words += [f"-c {name}={value}" for name, value in {**SETTINGS, **(settings or {})}.items()]
        arguments = {"options": " ".join(words), "connect_timeout": CONNECT_TIMEOUT}
    options["connect_args"] = arguments | options.get("connect_args", {})
    return sa.create_engine(parsed, isolation_level=READ_COMMITTED, **options)


def dotted(dialect: str) -> str:
    return ".".join(str(part) for part in LOWEST[dialect])


def check_server(connection: sa.Connection) -> None:
    """Refuse a server that selectq does not support.

    Raises:
        UnsupportedDatabaseError: SQLite, MariaDB, TiDB, or a version below the lowest supported one.
    """
    dialect = connection.dialect.name
    if dialect not in LOWEST:
        raise UnsupportedDatabaseError(f"{dialect} is not supported; use PostgreSQL or MySQL")
    check_version(dialect, str(connection.scalar(sa.text("SELECT version()"))))


def misplans(connection: sa.Connection) -> bool:
    """Whether the session's planner settings are others than those that a selection is fast with (PostgreSQL only)."""
    if connection.dialect.name != "postgresql":
        return False
    found = connection.execute(sa.select(*(sa.func.current_setting(name) for name in PLANNER_SETTINGS))).one()
    return tuple(found) != tuple(PLANNER_SETTINGS.values())


def set_planner(connection: sa.Connection) -> None:
    """Set them until the transaction ends: one statement, and nothing stays in the session."""
    settings = (sa.func.set_config(name, value, True) for name, value in PLANNER_SETTINGS.items())
    connection.execute(sa.select(*settings))


@contextmanager
def without_nested_loops(connection: sa.Connection) -> Iterator[None]:
    """For a statement about whole runs, on PostgreSQL, until the block ends; two statements.

    It would join row by row what it expects to be one row, and look rows up one by one that are wanted all.
    """
    if connection.dialect.name != "postgresql":
        yield
        return
    wanted = {"enable_nestloop": "off", "enable_seqscan": "on"}
    now = [sa.func.current_setting(name) for name in wanted]
    then = [sa.func.set_config(name, value, True) for name, value in wanted.items()]
    before = connection.execute(sa.select(*now, *then)).one()[: len(wanted)]
    yield
    # After an error the transaction is lost, and the settings with it.
    back = zip(wanted, before, strict=True)
    connection.execute(sa.select(*(sa.func.set_config(name, value, True) for name, value in back)))


def check_version(dialect: str, text: str) -> None:
    """Refuse a server by what its ``version()`` says. Raises as ``check_server`` does."""
    wanted = f"{NAMES[dialect]} {dotted(dialect)} or later"
    for mark, name in LOOKALIKES.items():
        if mark.lower() in text.lower():
            raise UnsupportedDatabaseError(f"this server is {name} ({text}); selectq needs {wanted} itself")
    found = re.search(r"(\d+)(?:\.(\d+))?", text)
    version = tuple(int(part) for part in found.groups(default="0")) if found else (0,)
    if version < LOWEST[dialect]:
        raise UnsupportedDatabaseError(f"this server is {described(dialect, text)}; selectq needs {wanted}")


def isolation_of(connection: sa.Connection) -> str:
    """Isolation level of the connection's transactions; the engine's default is asked for once."""
    chosen = connection.get_execution_options().get("isolation_level")
    if chosen is not None:
        return str(chosen)
    if connection.engine not in DEFAULT_ISOLATION:
        DEFAULT_ISOLATION[connection.engine] = connection.get_isolation_level()
    return DEFAULT_ISOLATION[connection.engine]


def check_isolation(connection: sa.Connection) -> None:
    """Refuse to claim where a statement can't see what was committed before its locks were granted.

    Raises:
        InvalidParameterError: the transactions of ``connection`` are not READ COMMITTED.
    """
    if (level := isolation_of(connection)) != READ_COMMITTED:
        raise InvalidParameterError(
            "connection",
            f"a claim needs isolation level {READ_COMMITTED}, this connection has {level}; use "
            f"selectq.database.create_engine, or connection.execution_options(isolation_level={READ_COMMITTED!r})",
        )


def described(dialect: str, text: str) -> str:
    name = NAMES[dialect]
    return text if text.startswith(name) else f"{name} {text}"


def connect(engine: sa.Engine) -> sa.Connection:
    """Open a connection, or say plainly that there is none to be had.

    Raises:
        DatabaseUnreachableError: refused, timed out, wrong password or no such database; the cause says which.
    """
    try:
        return engine.connect()
    except sa.exc.DBAPIError as error:
        where = engine.url.render_as_string(hide_password=True)
        raise DatabaseUnreachableError(f"db: cannot connect to {where}: {error.orig}") from error
