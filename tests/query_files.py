"""Folder trees of query files for tests: a small one of our own, and copies of the real one with a fault in it."""

from __future__ import annotations

import shutil
from pathlib import Path

from selectq.catalogue import ROOT

POOLS = """\
-- name: selection/pools
-- version: 1
-- purpose: Pools with at least so many slots.
-- result: rows
-- param least: integer; slots
-- column pool: text
-- column slots: integer; -1 = unlimited
-- locks: none
-- isolation: any
-- limits: none
-- server: {server}
-- origin: hand-written: it is short

SELECT pool, slots
FROM slot_pool
WHERE slots >= :least
ORDER BY pool
"""
SERVERS = {"postgresql": "15", "mysql": "8.4"}
FILE = "postgresql/selection/pools.v1.sql"
TWIN = "mysql/selection/pools.v1.sql"


def small_tree(root: Path) -> Path:
    """One query on both engines, and an empty lock file."""
    for dialect, server in SERVERS.items():
        put(root, f"{dialect}/selection/pools.v1.sql", POOLS.format(server=server))
    put(root, "released.lock", "# nothing yet\n")
    return root


def real_tree(root: Path) -> Path:
    """A copy of the project's own."""
    shutil.copytree(ROOT, root, dirs_exist_ok=True)
    return root


def put(root: Path, file: str, text: str) -> Path:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def edit(root: Path, file: str, old: str, new: str) -> None:
    """Plant a fault: ``old`` must be there."""
    text = (root / file).read_text(encoding="utf-8")
    assert old in text, f"{file} does not hold {old!r}"
    (root / file).write_text(text.replace(old, new), encoding="utf-8")
