"""Plans as text: a tree, and what is read of each table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from selectq.plans.model import Explained, Node, Plan

WIDTH = 150
"""Most characters of a step or of one of its conditions."""
VALUE_WIDTH = 60
COLUMNS = ("table", "access path", "rows estimated", "loops", "rows read", "pages")


def heading(explained: Explained) -> Iterator[str]:
    """Which query, how it was asked for, under which settings and parameters."""
    plan = explained.plan
    yield f"{explained.query}, version {explained.version}, on {explained.server}"
    if plan.analyzed:
        yield f"run and rolled back, {plan.ms or 0:,.1f} ms"
    elif not plan.handlers:
        yield "not run: estimates only"
    settings = ", ".join(f"{name} = {value}" for name, value in plan.settings.items())
    yield f"settings: {settings or 'those of the server; selectq changes none on this engine'}"
    if explained.parameters:
        yield f"parameters: {', '.join(f'{name} = {shown(value)}' for name, value in explained.parameters.items())}"


def shown(value: Any) -> str:
    """A value as --param takes it; a long list as its length."""
    if value is None:
        return "NULL"
    if isinstance(value, (list, dict)):
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= VALUE_WIDTH or isinstance(value, dict) else f"[{len(value)} rows]"
    return repr(value) if isinstance(value, str) else str(value)


def tree(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """(guide, step, numbers) of each line. Several inputs of a step are branches; a single one stands below it."""
    for root in plan.roots:
        yield from branch(root, "", "", plan.analyzed)


def branch(node: Node, first: str, guide: str, analyzed: bool) -> Iterator[tuple[str, str, str]]:
    yield first, cut(node.text), numbers(node, analyzed)
    inner = guide + ("│  " if len(node.children) > 1 else "   ")
    for detail in node.details:
        yield inner, cut(detail), ""
    if len(node.children) == 1:
        yield from branch(node.children[0], guide, guide, analyzed)
        return
    for number, child in enumerate(node.children, start=1):
        last = number == len(node.children)
        yield from branch(child, guide + ("└─ " if last else "├─ "), guide + ("   " if last else "│  "), analyzed)


def numbers(node: Node, analyzed: bool) -> str:
    """Rows per loop, loops and time; what was expected where it is all there is."""
    estimated = "" if node.estimated is None else f"{count(node.estimated)} estimated"
    if not analyzed:
        return estimated
    if node.loops is None:
        return ""
    if not node.loops:
        return "never run"
    parts = [f"rows {count(node.rows)} x {count(node.loops)}"]
    if node.read != node.rows:
        parts.append(f"{count(node.read)} read")
    if estimated:
        parts.append(estimated)
    if node.ms is not None:
        parts.append(f"{node.ms:,.2f} ms")
    return ", ".join(parts)


def count(value: float | None) -> str:
    """Averages may be broken."""
    if value is None:
        return "-"
    return f"{value:,.1f}" if value % 1 and value < 100 else f"{round(value):,}"


def table_rows(plan: Plan) -> tuple[Sequence[str], list[list[object]]]:
    """Columns and rows of what is read of each table; no column that is empty throughout."""
    rows = [[a.table, a.path, a.estimated, a.loops, a.rows, a.pages] for a in plan.accesses]
    kept = [at for at in range(len(COLUMNS)) if any(row[at] is not None for row in rows)]
    return [COLUMNS[at] for at in kept], [[row[at] for at in kept] for row in rows]


def as_object(explained: Explained) -> Mapping[str, object]:
    """For --json."""
    plan = explained.plan
    return {
        "query": explained.query,
        "version": explained.version,
        "engine": explained.engine,
        "server": explained.server,
        "analyzed": plan.analyzed,
        "settings": plan.settings,
        "parameters": explained.parameters,
        "tables": plan.accesses,
        "pages": plan.pages,
        "handlers": plan.handlers,
        "ms": plan.ms,
        "notes": plan.notes,
        "plan": plan.roots,
    }


def cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."
