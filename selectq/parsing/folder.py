"""The dag files of a folder, as a scan wants them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from selectq.errors import InvalidParameterError
from selectq.parsing.checked import storable
from selectq.parsing.rows import FoundFile
from selectq.schema_parsing import PATH_LENGTH

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Listing:
    """``files`` by path; ``skipped`` are names that can't be kept, as text to show."""

    files: tuple[FoundFile, ...]
    skipped: tuple[str, ...]


def list_folder(folder: Path, pattern: str = "*.py", digest: bool = False) -> Listing:
    """The files below a folder whose names match; paths are relative to it, with ``/``.

    Hidden folders and ``__pycache__`` are passed over, links to folders are not followed. A file that goes away while
    it is looked at is left out.

    Args:
        digest: read every file for its SHA-256, so that a change which leaves the modification time alone is seen.

    Raises:
        InvalidParameterError: there is no such folder.
    """
    if not folder.is_dir():
        raise InvalidParameterError("folder", f"{folder} is no folder")
    files, skipped = [], []
    for path in sorted(matching(folder, pattern)):
        name = path.relative_to(folder).as_posix()
        if len(name) > PATH_LENGTH or not storable(name):
            skipped.append(repr(name)[:80])
            continue
        try:
            files.append(FoundFile(name, modified(path), content_digest(path) if digest else None))
        except FileNotFoundError:
            continue
        except OSError as error:
            skipped.append(f"{name!r:.80}: {error.strerror}")
    return Listing(tuple(files), tuple(skipped))


def matching(folder: Path, pattern: str) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        for name in names:
            path = Path(place, name)
            if path.match(pattern):
                yield path


def modified(path: Path) -> datetime:
    """Modification time to the microsecond; one that no date can hold is taken for the earliest."""
    try:
        return EARLIEST + timedelta(microseconds=path.stat().st_mtime_ns // 1000)
    except OverflowError:
        return EARLIEST


def content_digest(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
