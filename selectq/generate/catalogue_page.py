"""``sql/CATALOGUE.md``: every query with its versions, parameters, columns, locks and limits, from the headers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from selectq.catalogue import DIALECTS, Field, Query
from selectq.database import NAMES

TITLE = """\
# Catalogue of queries

Written by `selectq sql generate` from the headers of the files; edit those, not this page.
"""
FACTS = ("purpose", "result", "locks", "isolation", "limits", "server", "engine", "origin", "waiver")


def catalogue_page(queries: Iterable[Query]) -> str:
    """The whole page, in Markdown."""
    by_name = sorted(queries, key=lambda query: (query.name, -query.version, DIALECTS.index(query.dialect)))
    parts = [TITLE]
    for name, versions in groupby(by_name, key=lambda query: query.name):
        parts.append(f"## {name}\n")
        for version, same in groupby(versions, key=lambda query: query.version):
            parts.append(section(version, list(same)))
    return "\n".join(parts)


def section(version: int, queries: Sequence[Query]) -> str:
    """One version of one query, on the engines that have it."""
    files = [f"[{NAMES[query.dialect]}]({query.file})" for query in queries]
    lines = [f"Version {version}: {', '.join(files)}", ""]
    for fact in FACTS:
        lines += fact_lines(fact, queries)
    for query in queries:
        lines += [f"- plan waiver, {NAMES[query.dialect]}, {w.subject}: {text(w.reason)}" for w in query.plan_waivers]
    lines.append("")
    lines += fields_table("Parameter", [(query.dialect, query.parameters) for query in queries])
    lines += fields_table("Column", [(query.dialect, query.columns) for query in queries])
    return "\n".join(lines)


def fact_lines(fact: str, queries: Sequence[Query]) -> list[str]:
    """One line if the engines agree, else one for each."""
    said = {query.dialect: text(query.header[fact]) for query in queries if fact in query.header}
    if len(said) == len(queries) and len(set(said.values())) == 1:
        return [f"- {fact}: {next(iter(said.values()))}"]
    return [f"- {fact}, {NAMES[dialect]}: {words}" for dialect, words in said.items()]


def fields_table(heading: str, declared: Sequence[tuple[str, Sequence[Field]]]) -> list[str]:
    """A row for each field; where only some of the engines have one, or say it in other words, the row names them."""
    rows: dict[Field, list[str]] = {}
    for dialect, fields in declared:
        for field in fields:
            rows.setdefault(field, []).append(NAMES[dialect])
    if not rows:
        return []
    names = [field.name for field in rows]
    lines = [f"| {heading} | Type | Meaning |", "| --- | --- | --- |"]
    for field, engines in sorted(rows.items(), key=lambda row: names.index(row[0].name)):
        only = "" if len(engines) == len(declared) else f"{' and '.join(engines)}: "
        lines.append(f"| `{field.name}` | {field.type} | {only}{text(field.description)} |")
    return [*lines, ""]


def text(value: str) -> str:
    """Plain text as Markdown, also inside a table."""
    return "".join(f"\\{char}" if char in "\\`*<>|" else char for char in value)
