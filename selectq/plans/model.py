"""What the plans of both engines have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Node:
    """One step of a plan. Numbers are per loop, except ``ms`` and ``pages``; None = not known.

    ``table`` and ``index`` are set where a step reads a table of selectq's; ``text`` is the step in the engine's words.
    ``read`` is ``rows`` plus those that were read and filtered out; ``pages`` are shared buffers, hit or read, and
    ``ms`` the time of the step with all below it.
    """

    kind: str
    text: str
    table: str | None = None
    index: str | None = None
    details: tuple[str, ...] = ()
    estimated: float | None = None
    rows: float | None = None
    read: float | None = None
    loops: float | None = None
    ms: float | None = None
    pages: int | None = None
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """The step and all below it, in the order of the plan."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def path(self) -> str:
        """How it reaches its table: ``Seq Scan``, ``Index Only Scan ix_task_instance_selection``."""
        return f"{self.kind} {self.index}" if self.index else self.kind


@dataclass(frozen=True)
class Access:
    """One way in which a plan reads a table, over all its steps that do.

    ``rows``: rows read, times loops, filtered out ones included; None without ANALYZE. ``estimated``: what the planner
    expects per loop. ``pages`` as ``Node``'s.
    """

    table: str
    path: str
    estimated: int | None
    loops: int | None
    rows: int | None
    pages: int | None


@dataclass(frozen=True)
class Plan:
    """A plan, and what running it took.

    ``handlers``: the session's Handler_read_* counters (MySQL); they count index entries, rows of tables and rows of
    temporary tables alike. ``pages``: shared buffers (Postgres). ``notes`` say what could not be had.
    """

    roots: tuple[Node, ...]
    analyzed: bool
    settings: Mapping[str, str] = field(default_factory=dict)
    handlers: Mapping[str, int] = field(default_factory=dict)
    pages: int | None = None
    notes: tuple[str, ...] = ()

    def walk(self) -> Iterator[Node]:
        for root in self.roots:
            yield from root.walk()

    @property
    def ms(self) -> float | None:
        return total([root.ms for root in self.roots])

    @property
    def accesses(self) -> list[Access]:
        """By table and path."""
        groups: dict[tuple[str, str], list[Node]] = {}
        for node in self.walk():
            if node.table:
                groups.setdefault((node.table, node.path), []).append(node)
        return [
            Access(
                table,
                path,
                estimated=whole(total([node.estimated for node in nodes])),
                loops=whole(total([node.loops for node in nodes])),
                rows=whole(total([times(node.read, node.loops) for node in nodes])),
                pages=whole(total([node.pages for node in nodes])),
            )
            for (table, path), nodes in sorted(groups.items())
        ]

    def rows_read(self) -> dict[str, int]:
        """Table -> rows read; of a plan that was run."""
        found: dict[str, int] = {}
        for access in self.accesses:
            found[access.table] = found.get(access.table, 0) + (access.rows or 0)
        return found


@dataclass(frozen=True)
class Explained:
    """The plan of one version of one query on one server, with the parameters that it was asked for."""

    query: str
    version: int
    engine: str
    server: str
    parameters: Mapping[str, Any]
    plan: Plan


def times(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first * second


def total(values: Sequence[float | None]) -> float | None:
    """None where nothing is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def whole(value: float | None) -> int | None:
    return None if value is None else round(value)
