"""What a listing of a bundle changes in the parse queue, in parts that keep each transaction short."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from selectq.errors import InvalidParameterError
from selectq.parsing.checked import check_found, moment, moment_text
from selectq.parsing.rows import FoundFile, Scanned
from selectq.parsing.statements import change, lock_state
from selectq.schema_parsing import HASH_LENGTH

FILES_PER_PART = 2_000


@dataclass(frozen=True)
class Part:
    """The files of a range of path hashes; the parts of a listing cover all hashes."""

    after_hash: str
    up_to_hash: str
    files: Sequence[FoundFile]


def parts(files: Iterable[FoundFile], size: int = FILES_PER_PART) -> Iterator[Part]:
    """Cut a whole listing into parts.

    Raises:
        InvalidParameterError: a file is wrong, or listed twice.
    """
    by_hash: dict[str, FoundFile] = {}
    for file in files:
        check_found(file)
        if by_hash.setdefault(path_hash(file.path), file) is not file:
            raise InvalidParameterError("files", f"{file.path!r:.80} is listed twice")
    hashes = sorted(by_hash)
    after = ""
    for start in range(0, max(len(hashes), 1), size):
        some = hashes[start : start + size]
        up_to = some[-1] if start + size < len(hashes) else HASH_LENGTH * "f"
        yield Part(after, up_to, [by_hash[each] for each in some])
        after = up_to


def path_hash(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()


def scan_part(
    connection: sa.Connection, bundle: str, part: Part, listed_at: datetime, now: datetime | None = None
) -> Scanned:
    """Take in what is new, note what has changed, drop what is gone; queue what is new or has changed.

    Args:
        listed_at: when the listing began, by the same clock as ``now``: what others found since is not dropped.
    """
    lock_state(connection)
    at = moment(connection, "now", now)
    listed = [
        {"bundle": bundle, "path": file.path, "mtime": moment_text(connection, file.mtime), "digest": file.digest}
        for file in part.files
    ]
    where = {"bundle": bundle, "after_hash": part.after_hash, "up_to_hash": part.up_to_hash}
    new = change(connection, "add_files", files=listed, now=at)
    changed = change(connection, "update_files", files=listed)
    began = moment(connection, "listed_at", listed_at)
    forgotten = change(connection, "forget_files", files=listed, listed_at=began, now=at, **where)
    change(connection, "queue_changed", now=at, **where)
    return Scanned(len(listed), new, changed, forgotten)
