"""Test servers in containers: settings for speed instead of safety, data in memory."""

from __future__ import annotations

import secrets
import socket
import subprocess
from collections.abc import Callable

import docker
from docker.errors import DockerException, ImageNotFound
from testcontainers.community.mysql import MySqlContainer
from testcontainers.community.postgres import PostgresContainer
from testcontainers.core.config import ConnectionMode, testcontainers_config
from testcontainers.core.generic import DbContainer

from tests.servers.names import Server

PULL_SECONDS = 30
PASSWORD = secrets.token_hex(8)
POSTGRES_OPTIONS = (
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=256MB",
    "max_connections=300",
)
MYSQL_OPTIONS = (
    "--skip-log-bin",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=OFF",
    "--innodb-buffer-pool-size=512M",
    "--innodb-redo-log-capacity=128M",
    "--max-connections=300",
    "--mysqlx=OFF",
    "--skip-name-resolve",
)


class NoServerError(Exception):
    """A test server can't be had; the message says how to get one."""


def advice(servers: list[Server]) -> str:
    variables = ", ".join(server.variable for server in servers)
    return f"Run `make servers` to get what is missing, or name running servers: {variables}"


def configure(servers: list[Server]) -> None:
    """Fit testcontainers to the engine at hand.

    Raises:
        NoServerError: no container engine answers, or an image is missing.
    """
    try:
        client = docker.from_env()
        name = client.info()["Name"]
    except DockerException as error:
        raise NoServerError(f"No container engine answers ({error}). {advice(servers)}") from error
    pulled = False
    for server in servers:
        try:
            # Only an image that came from a registry has digests of one.
            pulled |= bool(client.images.get(server.image).attrs.get("RepoDigests"))
        except ImageNotFound:
            raise NoServerError(f"There is no image {server.image}. {advice(servers)}") from None
    testcontainers_config.sleep_time = 0.2
    testcontainers_config.max_tries = 600
    if name == socket.gethostname():
        testcontainers_config.connection_mode_override = ConnectionMode.docker_host
    testcontainers_config.ryuk_disabled |= not has_reaper(client, pulled)
    client.close()


def has_reaper(client: docker.DockerClient, try_pull: bool) -> bool:
    """Whether testcontainers' own image, which removes containers after a crash, is there or can be pulled."""
    image = testcontainers_config.ryuk_image
    try:
        client.images.get(image)
    except ImageNotFound:
        if not try_pull:
            return False
        try:
            subprocess.run(["docker", "pull", "-q", image], check=True, timeout=PULL_SECONDS, capture_output=True)
        except (OSError, subprocess.SubprocessError):
            return False
    return True


def postgres(image: str) -> DbContainer:
    container = PostgresContainer(image, username="postgres", password=PASSWORD, dbname="postgres", driver=None)
    container.with_env("PGDATA", "/var/lib/pgdata").with_tmpfs_mount("/var/lib/pgdata")
    container.with_command(["postgres", *(word for option in POSTGRES_OPTIONS for word in ("-c", option))])
    return container.with_kwargs(shm_size="512m")


def mysql(image: str) -> DbContainer:
    container = MySqlContainer(image, username="root", password=PASSWORD, dbname="selectq", dialect="pymysql")
    container.with_env("MYSQL_INITDB_SKIP_TZINFO", "1").with_tmpfs_mount("/var/lib/mysql")
    return container.with_command(["mysqld", *MYSQL_OPTIONS])


MAKERS: dict[str, Callable[[str], DbContainer]] = {"postgres": postgres, "mysql": mysql}


def make(server: Server) -> DbContainer:
    """A container for the server, not started yet; other machines don't see it if the engine is on this one."""
    container = MAKERS[server.image.partition(":")[0]](server.image)
    if testcontainers_config.connection_mode_override == ConnectionMode.docker_host:
        container.ports = dict.fromkeys(container.ports, ("127.0.0.1",))
    return container
