"""The embedded Postgres: real, private, and gone afterwards."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from selectq import embedded
from selectq.database import check_server, create_engine
from selectq.embedded import embedded_postgres
from selectq.errors import SelectqError
from tests.interrupts import heed_interrupts


def ask(url: str, *questions: str) -> list[object]:
    engine = create_engine(url)
    with engine.connect() as connection:
        check_server(connection)
        answers = [connection.scalar(sa.text(question)) for question in questions]
    engine.dispose()
    return answers


def data_of(url: str) -> Path:
    return Path(str(ask(url, "SHOW data_directory")[0]))


def pid_of(data: Path) -> int:
    return int((data / "postmaster.pid").read_text().splitlines()[0])


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the user of the server may enter: root's tmp_path is closed to others."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_real_postgres_18_in_utf8() -> None:
    with embedded_postgres() as url:
        version, encoding = ask(url, "SHOW server_version", "SHOW server_encoding")
    assert str(version).startswith("18.")
    assert encoding == "UTF8"


def test_it_listens_in_a_private_folder_only() -> None:
    with embedded_postgres() as url:
        addresses, sockets = ask(url, "SHOW listen_addresses", "SHOW unix_socket_directories")
        assert addresses == ""
        assert Path(str(sockets)).stat().st_mode & 0o077 == 0


def test_the_callers_settings_do_not_leak_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PGPORT": "1", "PGDATA": "/nowhere", "LC_ALL": "xx_XX.UTF-8", "PGHOST": "example.org"}.items():
        monkeypatch.setenv(name, value)
    with embedded_postgres() as url:
        assert ask(url, "SELECT 1") == [1]


def test_two_at_once() -> None:
    with embedded_postgres() as one, embedded_postgres() as other:
        assert one != other
        assert ask(one, "SELECT 1") == ask(other, "SELECT 1") == [1]


def test_nothing_is_left_even_after_an_error() -> None:
    seen = []

    def fail_inside() -> None:
        with embedded_postgres() as url:
            data = data_of(url)
            seen.append((data.parent, pid_of(data)))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    (folder, pid), = seen
    assert not folder.exists()
    assert not alive(pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_after_a_signal(number: signal.Signals) -> None:
    script = (
        "import time\nfrom selectq.cli.exits import plain_exits\nfrom selectq.embedded import embedded_postgres\n"
        "with plain_exits(), embedded_postgres() as url:\n    print(url, flush=True)\n    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=heed_interrupts) as process:
        assert process.stdout is not None
        data = data_of(process.stdout.readline().strip())
        pid = pid_of(data)
        process.send_signal(number)
        assert process.wait(30) != 0
    assert not data.parent.exists()
    assert not alive(pid)


def test_a_data_folder_is_kept_and_used_again(open_folder: Path) -> None:
    data = open_folder / "data"
    with embedded_postgres(data) as url:
        assert ask(url, "SHOW fsync") == ["on"]
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(sa.text("CREATE TABLE kept AS SELECT 7 AS seven"))
        engine.dispose()
    with embedded_postgres(data) as url:
        assert ask(url, "SELECT seven FROM kept") == [7]


def test_a_data_folder_in_use_is_refused(open_folder: Path) -> None:
    data = open_folder / "data"
    refused = r'did not start:\n(.|\n)*lock file "postmaster.pid" already exists'
    with embedded_postgres(data) as url:
        with pytest.raises(SelectqError, match=refused), embedded_postgres(data):
            pass
        assert ask(url, "SELECT 1") == [1]


def test_a_folder_of_something_else_is_left_alone(open_folder: Path) -> None:
    (open_folder / "letter.txt").write_text("dear")
    before = open_folder.stat()
    with pytest.raises(SelectqError, match="could not be initialised"), embedded_postgres(open_folder):
        pass
    assert (open_folder / "letter.txt").read_text() == "dear"
    assert open_folder.stat().st_uid == before.st_uid


def test_programs_in_a_private_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when root's virtual environment is somewhere under /root."""
    installed = embedded._installed_programs()
    package = installed.parent.parent
    with tempfile.TemporaryDirectory() as folder:
        private = Path(folder)
        for name in (package.name, f"{package.name}.libs"):
            shutil.copytree(package.parent / name, private / name, ignore=shutil.ignore_patterns("include"))
        moved = private / package.name / installed.relative_to(package)
        monkeypatch.setattr(embedded, "_installed_programs", lambda: moved)
        mode = private.stat().st_mode
        with embedded_postgres() as url:
            assert ask(url, "SELECT 1") == [1]
        assert private.stat().st_mode == mode


def test_without_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SelectqError, match=r"pip install 'selectq\[embedded\]'"), embedded_postgres():
        pass
