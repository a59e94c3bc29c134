"""What a server's user may reach."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from selectq.errors import SelectqError
from selectq.unprivileged import open_to_others, unprivileged_user


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_open_means_the_whole_way_down(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir(mode=0o755)
    assert not open_to_others(inner)
    folder.chmod(0o755)
    assert open_to_others(inner)
    inner.chmod(0o750)
    assert not open_to_others(inner)


def test_links_are_followed(folder: Path) -> None:
    folder.chmod(0o755)
    hidden = folder / "hidden"
    hidden.mkdir(mode=0o700)
    (folder / "link").symlink_to(hidden)
    assert not open_to_others(folder / "link")


def test_only_root_becomes_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert unprivileged_user() is None
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    user = unprivileged_user()
    assert user is not None
    assert user.uid > 0


def test_no_such_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("selectq.unprivileged.NAME", "no-such-user-here")
    with pytest.raises(SelectqError, match="no user 'no-such-user-here' to run it as"):
        unprivileged_user()
