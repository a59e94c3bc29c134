"""Hints: MySQL takes one in the wrong place for a comment, and refuses an index that is not there only when it runs."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from selectq.catalogue import Query
from selectq.schema import build_metadata


def check_hints(query: Query, tree: exp.Expr) -> Iterator[str]:
    """Optimizer hints stand where they are read; index hints name indexes of the schema."""
    written = query.sql.count("/*+")
    if written and query.dialect != "mysql":
        yield f"/*+ */ means nothing to {query.dialect}"
    elif written != len(list(tree.find_all(exp.Hint))):
        yield "/*+ */ stands where MySQL takes it for a comment; it belongs right behind SELECT or UPDATE"
    tables = build_metadata(query.dialect).tables
    for hint in tree.find_all(exp.IndexTableHint):
        table = hint.find_ancestor(exp.Table)
        known = {str(index.name) for index in tables[table.name].indexes} if table and table.name in tables else set()
        for name in hint.expressions:
            if name.name not in known | {"PRIMARY"}:
                yield f"index {name.name} is not in the schema"
