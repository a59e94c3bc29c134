"""A pgbouncer in transaction mode in front of a test server, with a process, config and port of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

START_SECONDS = 10
CONFIG = """
[databases]
* = host={host} port={port} user={user} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 100
"""


def program() -> str:
    """Raises LookupError if there is none: `make servers` installs it on Debian, as root."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        raise LookupError("there is no pgbouncer; install Debian's package of that name, or run `make servers` as root")
    return found


@contextmanager
def pgbouncer(url: sa.URL, folder: Path, sessions: int) -> Iterator[sa.URL]:
    """Run it for the length of a ``with`` block; it opens at most ``sessions`` on the server.

    Yields:
        The URL of the same database, through the proxy.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / "pgbouncer.ini"
    config.write_text(
        CONFIG.format(
            host=url.host, port=url.port, user=url.username, password=url.password, own_port=port, sessions=sessions
        )
    )
    command = [program(), str(config)]
    if os.getuid() == 0:
        # It refuses root, and "nobody" may not enter a test's folder: so the config comes by a descriptor.
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program(), "/dev/stdin"]
    with (
        config.open() as text,
        (folder / "pgbouncer.log").open("w") as log,
        subprocess.Popen(command, stdin=text, stdout=log, stderr=log, cwd="/") as process,
    ):
        try:
            wait_for(port, process, folder / "pgbouncer.log")
            yield url.set(host="127.0.0.1", port=port)
        finally:
            process.kill()


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"pgbouncer does not start: {log.read_text()}") from None
            time.sleep(0.05)
        else:
            return
