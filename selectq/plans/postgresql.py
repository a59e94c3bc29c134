"""PostgreSQL: EXPLAIN (FORMAT JSON) and what its fields mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from selectq.catalogue import Query
from selectq.database import PLANNER_SETTINGS
from selectq.executor import execute
from selectq.plans.model import Node, Plan

JsonNode = Mapping[str, Any]

AGGREGATES = {"Hashed": "HashAggregate", "Sorted": "GroupAggregate", "Mixed": "MixedAggregate"}
DETAILS = ("Index Cond", "Recheck Cond", "Hash Cond", "Merge Cond", "Join Filter", "Filter", "Sort Key", "Group Key")
FILTERED_OUT = ("Rows Removed by Filter", "Rows Removed by Index Recheck")
NUMBERED = re.compile(r" \d+\b.*")
"""Of ``InitPlan 1 (returns $0)``: each version of the server counts and writes these in its own way."""


def explain(connection: sa.Connection, query: Query, values: Mapping[str, Any], analyze: bool) -> Plan:
    """Ask for the plan in the caller's transaction; with ``analyze`` the statement is run."""
    options = "ANALYZE, BUFFERS, SETTINGS" if analyze else "SETTINGS"
    [found] = execute(connection, query, values, f"EXPLAIN ({options}, FORMAT JSON)").scalar_one()
    root = node_of(found["Plan"])
    settings = {name: str(connection.scalar(sa.select(sa.func.current_setting(name)))) for name in PLANNER_SETTINGS}
    return Plan(
        (root,), analyze, settings | found.get("Settings", {}), pages=pages_of(found["Plan"]) if analyze else None
    )


def node_of(plan: JsonNode) -> Node:
    """One step of the JSON, with the steps below it."""
    children = plan.get("Plans", ())
    kind = kind_of(plan)
    reads_table = "Relation Name" in plan and kind.endswith("Scan")
    index = plan.get("Index Name")
    if reads_table and not index:
        # A bitmap scan reads by what the steps below it found.
        index = "+".join(sorted(indexes_below(plan))) or None
    rows = plan.get("Actual Rows")
    loops = plan.get("Actual Loops")
    return Node(
        kind,
        text_of(plan, kind),
        table=plan["Relation Name"] if reads_table else None,
        index=index if reads_table else None,
        details=tuple(f"{name}: {joined(plan[name])}" for name in DETAILS if name in plan),
        estimated=plan.get("Plan Rows"),
        rows=rows,
        read=None if rows is None else rows + sum(plan.get(name, 0) for name in FILTERED_OUT),
        loops=loops,
        ms=plan["Actual Total Time"] * loops if loops is not None and "Actual Total Time" in plan else None,
        pages=own_pages(plan) if reads_table else pages_of(plan),
        children=tuple(node_of(child) for child in children),
    )


def kind_of(plan: JsonNode) -> str:
    kind = str(plan["Node Type"])
    if kind == "Aggregate":
        kind = AGGREGATES.get(plan.get("Strategy", ""), kind)
    elif kind == "ModifyTable":
        kind = str(plan["Operation"])
    elif plan.get("Join Type", "Inner") != "Inner":
        kind = f"{kind.removesuffix(' Join')} {plan['Join Type']} Join"
    return f"Parallel {kind}" if plan.get("Parallel Aware") else kind


def text_of(plan: JsonNode, kind: str) -> str:
    """As psql shows it, with what a subplan is for in front."""
    words = [kind]
    if "Index Name" in plan:
        words += ["using" if "Relation Name" in plan else "on", plan["Index Name"]]
    if name := plan.get("Relation Name") or plan.get("CTE Name") or plan.get("Function Name"):
        words += ["on", name]
        if plan.get("Alias", name) != name:
            words.append(plan["Alias"])
    text = " ".join(words)
    return f"{NUMBERED.sub('', plan['Subplan Name'])}: {text}" if "Subplan Name" in plan else text


def indexes_below(plan: JsonNode) -> Iterator[str]:
    for child in plan.get("Plans", ()):
        if child["Node Type"] in ("Bitmap Index Scan", "BitmapAnd", "BitmapOr"):
            if "Index Name" in child:
                yield child["Index Name"]
            yield from indexes_below(child)


def pages_of(plan: JsonNode) -> int | None:
    """Shared buffers of the step and all below it."""
    if "Shared Hit Blocks" not in plan:
        return None
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def own_pages(plan: JsonNode) -> int | None:
    """Less those of subqueries in its conditions; the index of a bitmap scan counts as its own."""
    pages = pages_of(plan)
    if pages is None:
        return None
    others = [child for child in plan.get("Plans", ()) if not child["Node Type"].startswith("Bitmap")]
    return pages - sum(pages_of(child) or 0 for child in others)


def joined(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
