"""MySQL: EXPLAIN FORMAT=TREE and what its lines mean.

Not FORMAT=JSON: the plan of a selection is deeper than MySQL lets a JSON document be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from selectq.catalogue import Query
from selectq.executor import execute
from selectq.plans.model import Node, Plan
from selectq.schema import build_metadata

INDENT = 4
STEP = re.compile(r"(?P<indent> *)-> (?P<text>.*)", re.DOTALL)
NUMBER = r"[\d.e+-]+"
ESTIMATE = re.compile(rf"\s*\(cost=\S+ rows=(?P<rows>{NUMBER})\)$")
ACTUAL = re.compile(
    rf"\s*\((?:never executed|actual time=\S+?\.\.(?P<ms>{NUMBER}) rows=(?P<rows>{NUMBER}) loops=(?P<loops>\d+))\)$"
)
READS = re.compile(
    r"(?P<kind>[^:(]*(?:scan|lookup|search)[^:(]*?) on (?P<name>\S+)(?: using (?P<index>\w+))?", re.IGNORECASE
)
"""``Covering index lookup on ti using ix_task_instance_selection (...)``."""

NAMED = re.compile(r"(?P<kind>Materialize(?: (?:union|recursive))*(?: CTE)?|Update|Delete|Insert)\b.*", re.DOTALL)
"""Steps with a name in them that the kind goes without."""

NOT_IN_TREE = "<not executable by iterator executor>"


def explain(connection: sa.Connection, query: Query, values: Mapping[str, Any], analyze: bool) -> Plan:
    """Ask for the plan in the caller's transaction; with ``analyze`` the statement is run.

    EXPLAIN ANALYZE knows SELECT, INSERT ... SELECT and changes that join tables. Any other statement is run as it is:
    its plan holds estimates only, and the counters tell what it read.
    """
    with handler_reads(connection, analyze) as handlers:
        verb = "EXPLAIN ANALYZE" if analyze else "EXPLAIN"
        text = str(execute(connection, query, values, f"{verb} FORMAT=TREE").scalar_one())
    if NOT_IN_TREE not in text:
        return Plan(tuple(nodes_of(text, tables_of(query))), analyze, handlers=handlers)
    rows = execute(connection, query, values, "EXPLAIN FORMAT=TRADITIONAL").mappings().all()
    roots = tuple(row_node(dict(row), tables_of(query)) for row in rows)
    if not analyze:
        return Plan(roots, False)
    with handler_reads(connection, True) as handlers:
        execute(connection, query, values)
    note = "MySQL can't analyze such a statement: it was run, the plan shows estimates"
    return Plan(roots, False, handlers=handlers, notes=(note,))


@contextmanager
def handler_reads(connection: sa.Connection, wanted: bool) -> Iterator[dict[str, int]]:
    """By how much the block moves the session's counters of reads; those that do not move are left out."""
    found: dict[str, int] = {}
    if not wanted:
        yield found
        return
    before, own = handlers(connection), handlers(connection)
    yield found
    after = handlers(connection)
    # Asking for the counters moves them too: by as much as between the first two looks.
    moved = {name: after[name] - own[name] - (own[name] - before[name]) for name in after}
    found.update((name, count) for name, count in moved.items() if count)


def handlers(connection: sa.Connection) -> dict[str, int]:
    rows = connection.execute(sa.text("SHOW SESSION STATUS LIKE 'Handler_read%'"))
    return {name: int(value) for name, value in rows}


def tables_of(query: Query) -> dict[str, str]:
    """What a plan calls a table (its alias) -> the table. One alias for several tables stands for all: ``dag/task``."""
    tables = build_metadata(query.dialect).tables
    found: dict[str, set[str]] = {name: {name} for name in tables}
    for table, alias in re.findall(rf"\b({'|'.join(tables)})\s+AS\s+(\w+)", query.sql, re.IGNORECASE):
        found.setdefault(alias, set()).add(table)
    return {alias: "/".join(sorted(names)) for alias, names in found.items()}


@dataclass
class Growing:
    """A step while its children are still being read."""

    text: str
    children: list[Growing] = field(default_factory=list)


def nodes_of(text: str, tables: Mapping[str, str]) -> Iterator[Node]:
    """The steps of a tree as text."""
    top = Growing("")
    stack = [top]
    for line in text.splitlines():
        step = STEP.fullmatch(line)
        depth, odd = divmod(len(step["indent"]), INDENT) if step else (0, 0)
        if step is None or odd or depth >= len(stack):
            # The rest of a step whose condition holds a line break.
            stack[-1].text += f"\n{line}" if line else ""
            continue
        grown = Growing(step["text"])
        del stack[depth + 1 :]
        stack[-1].children.append(grown)
        stack.append(grown)
    for root in top.children:
        yield node_of(root, tables)


def node_of(grown: Growing, tables: Mapping[str, str]) -> Node:
    text = grown.text
    actual = ACTUAL.search(text)
    text = text[: actual.start()] if actual else text
    estimate = ESTIMATE.search(text)
    text = text[: estimate.start()] if estimate else text
    reads = READS.match(text)
    # A step with others below it reads what they left: the table is a temporary one.
    table = tables.get(reads["name"]) if reads and not grown.children else None
    loops = float(actual["loops"] or 0) if actual else None
    rows = float(actual["rows"] or 0) if actual else None
    return Node(
        kind_of(text, reads),
        text.strip(),
        table=table,
        index=reads["index"] if reads and table else None,
        estimated=float(estimate["rows"]) if estimate else None,
        rows=rows,
        read=rows,
        loops=loops,
        ms=float(actual["ms"] or 0) * float(actual["loops"] or 0) if actual else None,
        children=tuple(node_of(child, tables) for child in grown.children),
    )


def kind_of(text: str, reads: re.Match[str] | None) -> str:
    """The words of a step without names, conditions and numbers."""
    if reads:
        return reads["kind"]
    if named := NAMED.fullmatch(text):
        return named["kind"]
    return re.split(r": | \(| on | using (?!temporary)", text, maxsplit=1)[0].strip()


def row_node(row: Mapping[str, Any], tables: Mapping[str, str]) -> Node:
    """A line of the traditional table."""
    kind = f"{str(row['select_type']).capitalize()} by {row['type']}"
    using = f" using {row['key']}" if row["key"] else ""
    extra = f" ({row['Extra']})" if row["Extra"] else ""
    return Node(
        kind,
        f"{kind} on {row['table']}{using}{extra}",
        table=tables.get(str(row["table"])),
        index=row["key"],
        estimated=float(row["rows"]) if row["rows"] is not None else None,
    )
