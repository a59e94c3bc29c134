"""The same queries on both engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from selectq.catalogue import DIALECTS, Query
from selectq.checks.finding import Finding
from selectq.checks.header import only_on


def check_engines(queries: Sequence[Query]) -> Iterator[Finding]:
    """Names, versions, result kinds and columns are the same set on both, but for a query that one alone needs."""
    by_key = {(query.dialect, query.id): query for query in queries}
    for query in queries:
        [other_dialect] = set(DIALECTS) - {query.dialect}
        other = by_key.get((other_dialect, query.id))
        if other is None:
            if not only_on(query):
                why = f"add it, or say why not under 'engine: {query.dialect} only:'"
                yield Finding(query.file, f"{other_dialect} has no {query.id}; {why}")
            continue
        if only_on(query):
            yield Finding(query.file, f"says {query.header['engine']!r}, but {other_dialect} has it too")
        if query.dialect != DIALECTS[0]:
            continue
        if query.result != other.result:
            yield Finding(query.file, f"result is {query.result!r}, on {other_dialect} {other.result!r}")
        ours, theirs = columns(query), columns(other)
        if ours != theirs:
            difference = ", ".join(sorted(set(ours) ^ set(theirs))) or "their order"
            yield Finding(query.file, f"columns differ from {other_dialect}'s: {difference}")


def columns(query: Query) -> list[str]:
    return [f"{field.name} {field.type}" for field in query.columns]
