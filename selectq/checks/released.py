"""A released file never changes: ``released.lock`` holds the digest of each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from selectq.checks.finding import Finding

LOCK_FILE = "released.lock"
LINE = re.compile(r"(?P<digest>[0-9a-f]{64})  (?P<file>\S+)")


def check_released(root: Path) -> Iterator[Finding]:
    """Every file that the lock names is there, unchanged. Lines are as ``sha256sum`` writes them, or ``#`` comments."""
    lock = root / LOCK_FILE
    if not lock.is_file():
        yield Finding(LOCK_FILE, "is missing; it names the released files and may be empty")
        return
    seen: set[str] = set()
    for number, line in enumerate(lock.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if not match:
            yield Finding(LOCK_FILE, f"line {number}: expected '<SHA-256 in hex>  <path below sql/>'")
            continue
        file = match["file"]
        if file in seen:
            yield Finding(LOCK_FILE, f"line {number}: {file} is named twice")
            continue
        seen.add(file)
        path = root / file
        if not path.is_file():
            yield Finding(file, "was released and is gone; restore it")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != match["digest"]:
            yield Finding(file, "was released and has changed; restore it and make the change a new version")
