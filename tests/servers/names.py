"""The servers of the tests. Run as a module, it prints the images of those that no environment variable names.

The whole suite runs on ``WHOLE_SUITE``. On the other servers only those tests run that are for ``EVERY_SERVER`` or
``EVERY_POSTGRESQL``: what may differ from one version to the next, such as plans.
"""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Server:
    """One server: the image it is started from, or the environment variable with the URL of a running one."""

    name: str
    image: str
    variable: str
    whole_suite: bool = True

    @property
    def given_url(self) -> str | None:
        return os.environ.get(self.variable) or None


SERVERS = {
    server.name: server
    for server in (
        Server("postgresql", "postgres:18", "SELECTQ_TEST_POSTGRES_URL"),
        Server("postgresql17", "postgres:17", "SELECTQ_TEST_POSTGRES17_URL", whole_suite=False),
        Server("postgresql16", "postgres:16", "SELECTQ_TEST_POSTGRES16_URL", whole_suite=False),
        Server("postgresql15", "postgres:15", "SELECTQ_TEST_POSTGRES15_URL"),
        Server("mysql", "mysql:9.7", "SELECTQ_TEST_MYSQL_URL"),
    )
}
EVERY_SERVER = list(SERVERS)
EVERY_POSTGRESQL = [name for name in SERVERS if name.startswith("postgresql")]
WHOLE_SUITE = [server.name for server in SERVERS.values() if server.whole_suite]

if __name__ == "__main__":
    print(*(server.image for server in SERVERS.values() if not server.given_url))
