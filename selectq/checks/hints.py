"""Hints: MySQL takes one in the wrong place for a comment, and passes over an index that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from selectq.catalogue import Query
from selectq.schema import build_metadata

WRITTEN = re.compile(r"/\*\+(.*?)\*/", re.DOTALL)
INDEXES = re.compile(r"INDEX(?:_MERGE)?\(\s*\w+\s+([\w\s,]+)\)")
"""``INDEX(alias index, ...)`` and its relatives, inside a hint."""


def check_hints(query: Query, tree: exp.Expr) -> Iterator[str]:
    """Optimizer hints stand where they are read; the indexes that hints name are in the schema."""
    written = WRITTEN.findall(query.sql)
    if written and query.dialect != "mysql":
        yield f"/*+ */ means nothing to {query.dialect}"
    elif len(written) != len(list(tree.find_all(exp.Hint))):
        yield "/*+ */ stands where MySQL takes it for a comment; it belongs right behind SELECT or UPDATE"
    named = {name.name for hint in tree.find_all(exp.IndexTableHint) for name in hint.expressions}
    for indexes in INDEXES.findall(" ".join(written)):
        named.update(re.findall(r"\w+", indexes))
    tables = build_metadata(query.dialect).tables.values()
    known = {str(index.name) for table in tables for index in table.indexes} | {"PRIMARY"}
    for name in sorted(named - known):
        yield f"index {name} is not in the schema"
