"""Committed plans: ``<folder>/<engine>-<version>/<area>/<query>.v<N>.json``, one file per query.

A file lists each plan once, with the places where it is expected and the most rows that it may read there. A place is
``<workload>/<rows>/<state>``. It may have several plans: statistics are a sample, and where two plans cost the same the
server takes now the one and now the other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from selectq.errors import SelectqError
from selectq.plans.model import Node, Plan

ROOM = 1.5
"""Rows read may be this many times what they were when the baseline was written, and at least ``LEAST``."""
LEAST = 100

ALL_TABLES = "all tables"
"""What the session's counters say, temporary tables included: on MySQL not every read shows in a plan."""


@dataclass(frozen=True)
class Shape:
    """What is compared of a plan.

    ``steps``: its steps without names and numbers, indented by depth; ``access``: table -> how it is read; ``rows``:
    table -> rows read x loops, or in a baseline the most that may be.
    """

    steps: tuple[str, ...]
    access: Mapping[str, tuple[str, ...]]
    rows: Mapping[str, int]


def shape_of(plan: Plan) -> Shape:
    access: dict[str, set[str]] = {}
    for found in plan.accesses:
        access.setdefault(found.table, set()).add(found.path)
    return Shape(
        tuple(line for root in plan.roots for line in outline(root)),
        {table: tuple(sorted(paths)) for table, paths in access.items()},
        plan.rows_read() | ({ALL_TABLES: sum(plan.handlers.values())} if plan.handlers else {}),
    )


def outline(node: Node, depth: int = 0) -> Iterator[str]:
    yield "  " * depth + (f"{node.path} on {node.table}" if node.table else node.kind)
    for child in node.children:
        yield from outline(child, depth + 1)


def server_key(connection: sa.Connection) -> str:
    """``postgresql-18``, ``mysql-9.7``: the versions between which plans may differ."""
    version = connection.dialect.server_version_info or ()
    parts = version[:1] if connection.dialect.name == "postgresql" else version[:2]
    return f"{connection.dialect.name}-{'.'.join(map(str, parts))}"


@dataclass(frozen=True)
class Baselines:
    """The files of one server version."""

    folder: Path
    server: str

    def path(self, query_id: str) -> Path:
        return self.folder / self.server / f"{query_id}.json"

    def read(self, query_id: str) -> dict[str, tuple[Shape, ...]]:
        """Place -> plans, any of which may be; empty if there is no file.

        Raises:
            SelectqError: the file can't be read.
        """
        path = self.path(query_id)
        if not path.is_file():
            return {}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["plans"]
            shapes: dict[str, tuple[Shape, ...]] = {}
            for entry in found:
                for place in entry["rows_at_most"]:
                    shapes[place] = (*shapes.get(place, ()), entry_shape(entry, place))
            return shapes
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SelectqError(f"{path}: not a baseline ({error!r}); write it anew with --update") from error

    def write(self, query_id: str, shapes: Mapping[str, Shape], add: bool = False) -> bool:
        """Write what was found as what is expected from now on, with room; whether the file changed.

        Places that were not looked at keep what they have, and so do those that have such a plan already.

        Args:
            add: a plan that is new to its place is expected beside what was, not instead of it.
        """
        expected = self.read(query_id)
        for place, shape in shapes.items():
            before = expected.get(place, ())
            others = tuple(known for known in before if known.steps != shape.steps)
            is_new = others == before
            expected[place] = (*others, with_room(shape)) if add or not is_new else (with_room(shape),)
        text = json.dumps({"query": query_id, "server": self.server, "plans": entries(expected)}, indent=1) + "\n"
        path = self.path(query_id)
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return True

    def strays(self, query_ids: set[str]) -> list[Path]:
        """Files of queries that are not there."""
        known = {self.path(query_id) for query_id in query_ids}
        return sorted(set((self.folder / self.server).rglob("*.json")) - known)


def entry_shape(entry: Mapping[str, Any], place: str) -> Shape:
    access = {table: tuple(paths) for table, paths in entry["access"].items()}
    return Shape(tuple(entry["steps"]), access, dict(entry["rows_at_most"][place]))


def entries(shapes: Mapping[str, tuple[Shape, ...]]) -> list[dict[str, Any]]:
    """One for each different plan, by first place."""
    plans: dict[tuple[str, ...], dict[str, Shape]] = {}
    for place in sorted(shapes):
        for shape in sorted(shapes[place], key=lambda each: each.steps):
            plans.setdefault(shape.steps, {})[place] = shape
    return [
        {
            "rows_at_most": {place: dict(shape.rows) for place, shape in where.items()},
            "access": {table: list(paths) for table, paths in next(iter(where.values())).access.items()},
            "steps": list(steps),
        }
        for steps, where in plans.items()
    ]


def with_room(shape: Shape) -> Shape:
    return replace(shape, rows={table: bound(rows) for table, rows in shape.rows.items()})


def bound(rows: int) -> int:
    """With room, in two digits."""
    wanted = max(LEAST, math.ceil(rows * ROOM))
    unit = int(10 ** (len(str(wanted)) - 2))
    return math.ceil(wanted / unit) * unit
