"""Folders of dag files, parsed before; the work on them is what processors and a scan do."""

from __future__ import annotations

import hashlib
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import sqlalchemy as sa

from selectq.parsing import Arrival, FoundFile, Settings, statements
from selectq.parsing.scan import parts, scan_part
from selectq.plans.states import Call, analyse, count_on, tables_of

BUNDLES = 10
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
EDITED = NOW - timedelta(days=30)
SETTINGS = Settings(callback_share=0.5)
SLOTS = 4

Row = dict[str, Any]


@dataclass(frozen=True)
class Folder(ABC):
    """One file for ten of ``rows``, in 10 bundles.

    One file in 10 is due, one in 10 has a callback, one in 100 is claimed, half of these by processors that are dead.
    """

    area: ClassVar[str] = "parsing"

    rows: int

    @property
    def files(self) -> range:
        """Numbers of the files, from 1."""
        return range(1, self.rows // 10 + 1)

    def load(self, engine: sa.Engine) -> None:
        rows = {
            "dag_file": [file(number) for number in self.files],
            "parse_request": list(self.requests()),
            "parse_payload": [
                {"payload_id": number, "request_id": number, "kind": "dag_callback", "payload": "{}"}
                for number in self.files
                if has_callback(number)
            ],
            "parse_state": [{"state_id": 1, "refills": 1, "refilled_at": NOW}],
        }
        tables = {table.name: table for table in tables_of(engine)}
        with engine.begin() as connection:
            for name, found in rows.items():
                connection.execute(sa.insert(tables[name]), in_database(connection, found))
                count_on(connection, tables[name])
        analyse(engine)

    def requests(self) -> Iterator[Row]:
        """Those of callbacks, numbered as their files."""
        for number in self.files:
            if has_callback(number):
                yield request(number, number, "priority", "dag_callback")

    @abstractmethod
    def calls(self) -> Sequence[Call]: ...


class FilesDue(Folder):
    """The last refill is done, so that a refill queues what is due."""

    name: ClassVar[str] = "files-due"

    def calls(self) -> Sequence[Call]:
        return (*looks(), lambda connection: statements.refill(connection, SETTINGS, NOW), self.scan_bundle)

    def scan_bundle(self, connection: sa.Connection) -> None:
        """One file is new, one was edited, one is gone."""
        known = [path(number) for number in self.files if bundle(number) == bundle(1)]
        found = [FoundFile(name, EDITED) for name in known[1:-1]]
        listing = [*found, FoundFile(known[-1], NOW), FoundFile("new.py", NOW)]
        for part in parts(listing):
            scan_part(connection, bundle(1), part, NOW, NOW)


class FilesWait(Folder):
    """Every file waits for the last refill, so that no other is due."""

    name: ClassVar[str] = "files-wait"

    def requests(self) -> Iterator[Row]:
        yield from super().requests()
        for number in self.files:
            if not is_claimed(number):
                yield request(len(self.files) + number, number, "standard", "disk", refill=1)

    def calls(self) -> Sequence[Call]:
        names = [(bundle(1), "new.py"), *((bundle(number), path(number)) for number in range(1, 10))]
        arrivals = [Arrival(*name, "dag_callback", {}) for name in names]
        return (
            *looks(),
            lambda connection: statements.enqueue(connection, arrivals, NOW),
            claim_and_finish,
            lambda connection: statements.give_back(connection, SETTINGS, NOW),
            lambda connection: statements.refill(connection, SETTINGS, NOW),
            lambda connection: statements.change(connection, "add_state"),
        )


def looks() -> Sequence[Call]:
    """Calls that change nothing."""
    return (
        statements.clock,
        lambda connection: statements.waiting(connection, 10, NOW),
        lambda connection: statements.due(connection, SETTINGS, NOW),
        lambda connection: statements.metrics(connection, NOW),
    )


def claim_and_finish(connection: sa.Connection) -> None:
    for file in statements.claim(connection, SLOTS, SETTINGS, "processor", NOW):
        statements.finish(connection, file, now=NOW)


def path(number: int) -> str:
    return f"dag_{number:06}.py"


def bundle(number: int) -> str:
    return f"bundle_{number % BUNDLES}"


def has_callback(number: int) -> bool:
    return number % 10 == 3


def is_claimed(number: int) -> bool:
    return number % 100 == 33


def file(number: int) -> Row:
    parsed_at = NOW - timedelta(seconds=600 if number % 10 == 7 else 10)
    claimed_at = NOW - timedelta(seconds=1000 if number % 200 == 33 else 5)
    return {
        "file_id": number,
        "bundle": bundle(number),
        "path": path(number),
        "path_hash": hashlib.sha256(path(number).encode()).hexdigest(),
        "found_at": EDITED,
        "mtime": EDITED,
        "parsed_mtime": EDITED,
        "last_parse_start": parsed_at,
        "last_parse_end": parsed_at,
        "parses": 1,
        "claim_token": uuid.UUID(int=number) if is_claimed(number) else None,
        "claimed_at": claimed_at if is_claimed(number) else None,
        "claimed_by": "processor" if is_claimed(number) else None,
        "claim_parses": True if is_claimed(number) else None,
    }


def request(number: int, file: int, lane: str, kind: str, refill: int | None = None) -> Row:
    return {
        "request_id": number,
        "file_id": file,
        "lane": lane,
        "kind": kind,
        "taken": is_claimed(file),
        "line": 1,
        "parse": kind == "disk",
        "refill": refill,
        "enqueued_at": NOW,
    }


def in_database(connection: sa.Connection, rows: list[Row]) -> list[Row]:
    """Times as the driver wants them: MySQL's columns know no time zone."""
    if connection.dialect.name != "mysql":
        return rows
    return [
        {key: value.replace(tzinfo=None) if isinstance(value, datetime) else value for key, value in row.items()}
        for row in rows
    ]
