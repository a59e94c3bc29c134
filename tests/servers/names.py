"""The servers of the suite. Run as a module, it prints the images of those that no environment variable names."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Server:
    """One server: the image it is started from, or the environment variable with the URL of a running one."""

    name: str
    image: str
    variable: str

    @property
    def given_url(self) -> str | None:
        return os.environ.get(self.variable) or None


SERVERS = {
    server.name: server
    for server in (
        Server("postgresql", "postgres:18", "SELECTQ_TEST_POSTGRES_URL"),
        Server("postgresql15", "postgres:15", "SELECTQ_TEST_POSTGRES15_URL"),
        Server("mysql", "mysql:9.7", "SELECTQ_TEST_MYSQL_URL"),
    )
}

if __name__ == "__main__":
    print(*(server.image for server in SERVERS.values() if not server.given_url))
