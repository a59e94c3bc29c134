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


class Proxy:
    """A pgbouncer for one server, on a port of its own; it opens at most ``sessions`` on the server.

    Attributes:
        url: of the same database, through the proxy.
    """

    def __init__(self, url: sa.URL, folder: Path, sessions: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = url.set(host="127.0.0.1", port=self.port)
        self._config, self._log = folder / "pgbouncer.ini", folder / "pgbouncer.log"
        self._config.write_text(
            CONFIG.format(
                host=url.host, port=url.port, user=url.username, password=url.password, own_port=self.port,
                sessions=sessions,
            )
        )  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [program(), str(self._config)]
        if os.getuid() == 0:
            # It refuses root, and "nobody" may not enter a test's folder: so the config comes by a descriptor.
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program(), "/dev/stdin"]
        with self._config.open() as text, self._log.open("a") as log:
            self._process = subprocess.Popen(command, stdin=text, stdout=log, stderr=log, cwd="/")
        wait_for(self.port, self._process, self._log)

    def kill(self) -> None:
        """All connections through it end at once, in whatever they are doing."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def pgbouncer(url: sa.URL, folder: Path, sessions: int) -> Iterator[Proxy]:
    """Run it for the length of a ``with`` block."""
    proxy = Proxy(url, folder, sessions)
    try:
        proxy.start()
        yield proxy
    finally:
        proxy.kill()


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
