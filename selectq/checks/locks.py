"""Locks: the header says what the statement takes."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from selectq.catalogue import Query
from selectq.checks.parsing import sql_of
from selectq.schema import build_metadata

WAITS = {False: "SKIP LOCKED", True: "NOWAIT"}


def check_locks(query: Query, tree: exp.Expr) -> Iterator[str]:
    """``locks: none`` if and only if there is none; else the header names each table whose rows are locked, and how."""
    said = query.header["locks"]
    clauses = list(tree.find_all(exp.Lock))
    changes = list(tree.find_all(exp.DML))
    if said == "none":
        for node in (*clauses, *changes):
            what = sql_of(query, node) if isinstance(node, exp.Lock) else node.key.upper()
            yield f"locks: 'none' is declared, but there is {what}"
        return
    if not clauses and not changes:
        yield f"locks: {said!r} is declared, but the statement locks nothing"
    for table in sorted({name for node in (*clauses, *changes) for name in locked_tables(query, node)}):
        if rows_of(table) not in said.lower():
            yield f"locks: the statement locks rows of {table}, the header does not speak of {rows_of(table)}"
    found = {WAITS[wait] for clause in clauses if (wait := clause.args.get("wait")) in WAITS}
    for words in WAITS.values():
        if (words in said) != (words in found):
            yield f"locks: {words} is {'declared, but not there' if words in said else 'there, but not declared'}"


def rows_of(table: str) -> str:
    """What a header calls the rows of a table: pools, dag runs, task instances."""
    return table.removeprefix("slot_").replace("_", " ") + "s"


def locked_tables(query: Query, node: exp.Expr) -> set[str]:
    """Tables of the schema whose rows a locking clause or a change locks."""
    statement = node.parent if isinstance(node, exp.Lock) else node
    if statement is None:
        return set()
    aliases = sources(statement)
    if isinstance(node, exp.Lock):
        wanted = [table.name for table in node.expressions] or list(aliases)
    elif isinstance(node, exp.Update):
        target = node.this.alias_or_name
        wanted = [assignment.this.table or target for assignment in node.expressions]
    else:
        wanted = [table.alias_or_name for table in node.this.find_all(exp.Table)]
    known = build_metadata(query.dialect).tables
    return {aliases[name] for name in wanted if aliases.get(name) in known}


def sources(statement: exp.Expr) -> dict[str, str]:
    """Alias -> table of what a statement itself reads from or changes, not its subqueries."""
    found: dict[str, str] = {}
    stack = [statement.this, statement.args.get("from_"), *(statement.args.get("joins") or [])]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Table):
            found[node.alias_or_name] = node.name
            stack += node.args.get("joins") or []
        elif isinstance(node, (exp.From, exp.Join, exp.Schema)):
            stack.append(node.this)
    return found
