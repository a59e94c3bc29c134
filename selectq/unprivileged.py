"""Whom to run a server as when we are root, and what that user can reach."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from selectq.errors import SelectqError

NAME = "nobody"


@dataclass(frozen=True)
class User:
    """A system user."""

    name: str
    uid: int
    gid: int


def unprivileged_user() -> User | None:
    """The user ``nobody`` if this process is root, else None: stay who we are.

    Raises:
        SelectqError: there is no such user, or this is Windows.
    """
    if os.name != "posix":
        raise SelectqError("the embedded Postgres runs on Linux and macOS only; use a server of yours with --db")
    if os.geteuid() != 0:
        return None
    import pwd

    try:
        entry = pwd.getpwnam(NAME)
    except KeyError:
        raise SelectqError(
            f"Postgres refuses to run as root, and there is no user {NAME!r} to run it as; use a server with --db"
        ) from None
    return User(NAME, entry.pw_uid, entry.pw_gid)


def open_to_others(path: Path) -> bool:
    """Whether everyone may enter each folder above ``path``, and enter or run ``path`` itself, by the mode bits."""
    real = path.resolve()
    return all(place.stat().st_mode & stat.S_IXOTH for place in (real, *real.parents))
