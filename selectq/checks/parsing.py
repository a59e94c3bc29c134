"""One file, one statement, in its dialect."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from selectq.catalogue import Query
from selectq.generate.render import GLOT


class UnparsableError(Exception):
    """The file does not hold exactly one statement that sqlglot understands."""


def parse(query: Query) -> exp.Expr:
    """The statement's tree.

    Raises:
        UnparsableError: it does not parse, there is none or more than one, or something hangs on to its end.
    """
    if re.search(r"(;|--[^\n]*)\s*\Z", query.sql):
        raise UnparsableError("ends with ';' or a comment: nothing may follow the statement")
    try:
        trees = sqlglot.parse(query.sql, read=GLOT[query.dialect])
    except SqlglotError as error:
        raise UnparsableError(f"does not parse: {one_line(error)}") from None
    statements = [tree for tree in trees if tree is not None]
    if len(statements) != 1:
        raise UnparsableError(f"holds {len(statements)} statements; expected exactly one")
    [tree] = statements
    # What sqlglot can't parse it may keep as text.
    if not isinstance(tree, (exp.Query, exp.DML)):
        raise UnparsableError(f"is no query and changes no rows: {query.sql.split(maxsplit=1)[0]}")
    if tree.find(exp.Command):
        raise UnparsableError("holds a part that sqlglot can't parse")
    return tree


def sql_of(query: Query, node: exp.Expr) -> str:
    """A part of the statement as text."""
    return node.sql(GLOT[query.dialect])


def one_line(error: SqlglotError) -> str:
    details = getattr(error, "errors", None)
    if not details:
        return " ".join(str(error).split())
    first = details[0]
    return f"{first['description']} at line {first['line']} of the statement, at {first['highlight']!r}"
