"""The servers of one test run: given by URL or started once, by the process that pytest was called as."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import sqlalchemy as sa
from testcontainers.core.generic import DbContainer

from selectq.database import NAMES, create_engine
from selectq.errors import SelectqError
from tests.servers import containers
from tests.servers.names import SERVERS, Server

CONNECT_SECONDS = 20


class RunningServers:
    """URLs of the servers by name, with rights to create databases. Started on demand, stopped by ``stop``."""

    def __init__(self, urls: dict[str, str] | None = None) -> None:
        self.urls = dict(urls or {})
        self._containers: list[DbContainer] = []

    def url(self, name: str) -> str:
        self.start([name])
        return self.urls[name]

    def start(self, names: Iterable[str]) -> None:
        """Have these servers running, all started at the same time.

        Raises:
            NoServerError: one can't be started or reached.
        """
        wanted = [SERVERS[name] for name in names if name not in self.urls]
        to_start = [server for server in wanted if not server.given_url]
        if to_start:
            containers.configure(to_start)
        with ThreadPoolExecutor(max_workers=len(SERVERS)) as threads:
            found = list(threads.map(self._start_one, wanted))
        self.urls.update(zip((server.name for server in wanted), found, strict=True))

    def _start_one(self, server: Server) -> str:
        url = server.given_url
        if not url:
            container = containers.make(server)
            self._containers.append(container)
            try:
                container.start()
                url = container.get_connection_url().replace("@localhost:", "@127.0.0.1:")
            except Exception as error:
                raise containers.NoServerError(f"{server.image} does not start: {error}") from error
        wait_for(server, url)
        return url

    def stop(self) -> None:
        with ThreadPoolExecutor(max_workers=len(SERVERS)) as threads:
            list(threads.map(lambda container: container.stop(), self._containers))
        self._containers.clear()

    def describe(self) -> list[str]:
        """One line per server: its version and where it comes from."""
        lines = []
        for name, url in self.urls.items():
            server = SERVERS[name]
            origin = server.variable if server.given_url else f"container {server.image}"
            lines.append(f"{name}: {version(url)} ({origin})")
        return lines


def version(url: str) -> str:
    engine = create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        text = str(connection.scalar(sa.text("SELECT version()")))
    return f"{NAMES[engine.dialect.name]} {text.removeprefix('PostgreSQL ').split(' ')[0]}"


def wait_for(server: Server, url: str) -> None:
    """Return once the server answers; a server that was named is expected to be up already."""
    deadline = time.monotonic() + (0 if server.given_url else CONNECT_SECONDS)
    while True:
        try:
            version(url)
        except sa.exc.OperationalError as error:
            if time.monotonic() > deadline:
                origin = server.variable if server.given_url else server.image
                raise containers.NoServerError(f"{origin}: no connection to the server: {error.orig}") from error
            time.sleep(0.2)
        except (sa.exc.ArgumentError, SelectqError) as error:
            raise containers.NoServerError(f"{server.variable}: {error}") from error
        else:
            return
