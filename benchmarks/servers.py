"""The servers that a benchmark runs on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from selectq.cli.exits import fail
from tests.servers.containers import NoServerError
from tests.servers.running import RunningServers

ENGINES = ("postgresql", "mysql")


def chosen_engines(wanted: Collection[str]) -> list[str]:
    """Those wanted; all if none is named."""
    return [name for name in ENGINES if name in wanted or not wanted]


def given_urls(postgresql: str | None, mysql: str | None) -> dict[str, str]:
    return {name: url for name, url in (("postgresql", postgresql), ("mysql", mysql)) if url}


@contextmanager
def servers_for(engines: Sequence[str], given: dict[str, str]) -> Iterator[dict[str, str]]:
    """URLs of the servers: given, named as for the tests, or started and stopped here."""
    running = RunningServers(given)
    try:
        try:
            running.start(engines)
        except NoServerError as error:
            fail(str(error))
        yield running.urls
    finally:
        running.stop()
