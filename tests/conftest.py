"""The servers of the run, and the fixtures that lend a test a database of its own.

``engine``, ``empty_engine``, ``engine_url`` and ``empty_engine_url`` run a test once on each server of ``WHOLE_SUITE``.
To run a test on others, or on some of them only, parametrize it: ``@pytest.mark.parametrize("engine_name",
EVERY_SERVER)``. ``--engine mysql`` narrows a run.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis
import pytest
import sqlalchemy as sa

from selectq.database import create_engine
from tests.servers.containers import NoServerError
from tests.servers.databases import Databases
from tests.servers.names import EVERY_SERVER, WHOLE_SUITE
from tests.servers.running import RunningServers

LIBRARIES = ("sqlalchemy", "alembic", "psycopg", "PyMySQL", "sqlglot", "hypothesis", "testcontainers")
RUNNING = pytest.StashKey[RunningServers]()

# Databases answer when they answer: a slow example is no failure.
hypothesis.settings.register_profile("selectq", deadline=None, print_blob=True)
hypothesis.settings.load_profile("selectq")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        action="append",
        choices=EVERY_SERVER,
        metavar="NAME",
        help=f"run tests that need a server on this one only; repeatable: {', '.join(EVERY_SERVER)}",
    )


def engine_names(config: pytest.Config) -> list[str]:
    return config.getoption("engine") or EVERY_SERVER


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def is_controller(config: pytest.Config) -> bool:
    return not is_worker(config) and bool(getattr(config.option, "tx", None))


def pytest_configure(config: pytest.Config) -> None:
    given = config.workerinput["selectq_servers"] if is_worker(config) else None
    config.stash[RUNNING] = RunningServers(given)
    if not is_worker(config):
        # A run that is told to end still removes its containers.
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[RUNNING].stop()


def start(config: pytest.Config, names: list[str]) -> None:
    try:
        config.stash[RUNNING].start(names)
    except NoServerError as error:
        raise pytest.UsageError(str(error)) from error


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    # Workers collect only after they are told the servers, so with xdist all are started.
    if is_controller(session.config) and not session.config.option.collectonly:
        start(session.config, engine_names(session.config))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["selectq_servers"] = node.config.stash[RUNNING].urls


def pytest_report_header(config: pytest.Config) -> list[str]:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    return [f"python {platform.python_version()}, {versions}", *config.stash[RUNNING].describe()]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = {*engine_names(config), None}
    dropped = [item for item in items if engine_of(item) not in wanted]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if engine_of(item) in wanted]


def engine_of(item: pytest.Item) -> str | None:
    call = getattr(item, "callspec", None)
    return call.params.get("engine_name") if call else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    if is_worker(config) or is_controller(config) or config.option.collectonly:
        return
    needed = {engine_of(item) for item in session.items}
    start(config, [name for name in EVERY_SERVER if name in needed])


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    return [] if is_controller(config) else config.stash[RUNNING].describe()


@pytest.fixture(scope="session", params=WHOLE_SUITE)
def engine_name(request: pytest.FixtureRequest) -> str:
    """The server a test runs on, by its name in ``SERVERS``."""
    return request.param


@pytest.fixture(scope="session")
def databases(request: pytest.FixtureRequest) -> Iterator[dict[str, Databases]]:
    """The worker's databases per server, made when first asked for."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", secrets.token_hex(4))[:8]
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    running = request.config.stash[RUNNING]

    class ByServer(dict[str, Databases]):
        def __missing__(self, name: str) -> Databases:
            self[name] = Databases(running.url(name), f"selectq_test_{run}_{worker}")
            return self[name]

    found = ByServer()
    yield found
    for each in found.values():
        each.drop_all()


@contextmanager
def lent_url(databases: Databases, migrated: bool) -> Iterator[str]:
    name = databases.lend(migrated)
    yield databases.url(name).render_as_string(hide_password=False)
    databases.take_back(name, migrated)


@pytest.fixture
def engine_url(databases: dict[str, Databases], engine_name: str) -> Iterator[str]:
    """URL of a database of the test's own, with the schema and no rows."""
    with lent_url(databases[engine_name], migrated=True) as url:
        yield url


@pytest.fixture
def empty_engine_url(databases: dict[str, Databases], engine_name: str) -> Iterator[str]:
    """URL of a database of the test's own, without tables."""
    with lent_url(databases[engine_name], migrated=False) as url:
        yield url


@contextmanager
def opened(url: str) -> Iterator[sa.Engine]:
    engine = create_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def engine(engine_url: str) -> Iterator[sa.Engine]:
    """An engine on ``engine_url``: schema at its newest revision, no rows."""
    with opened(engine_url) as made:
        yield made


@pytest.fixture
def empty_engine(empty_engine_url: str) -> Iterator[sa.Engine]:
    """An engine on ``empty_engine_url``: no tables."""
    with opened(empty_engine_url) as made:
        yield made
