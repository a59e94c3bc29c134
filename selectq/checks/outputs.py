"""Result kind and columns as the tree has them."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from selectq.catalogue import Query


def check_outputs(query: Query, tree: exp.Expr) -> Iterator[str]:
    """Declared columns = what the outermost statement returns, in order; a count comes of one that returns none."""
    found = output_names(tree)
    if query.result == "count":
        if found is not None:
            yield "result: 'count' is for a statement that changes rows and returns none"
        return
    declared = [field.name for field in query.columns]
    if found is None:
        yield f"result: {query.result!r} is declared, but the statement returns no rows"
    elif "*" in found:
        yield "the outermost statement returns *; name its columns"
    elif set(found) != set(declared):
        missing = ", ".join(name for name in declared if name not in found) or "none"
        extra = ", ".join(name for name in found if name not in declared) or "none"
        yield f"columns: declared, not returned: {missing}; returned, not declared: {extra}"
    elif found != declared:
        yield f"columns are returned in another order than declared: {', '.join(found)}"


def output_names(tree: exp.Expr) -> list[str] | None:
    """Names of the columns that a statement returns; None if it returns no rows."""
    if isinstance(tree, exp.DML):
        returning = tree.args.get("returning")
        return [column.output_name for column in returning.expressions] if returning else None
    names: list[str] = tree.named_selects if isinstance(tree, exp.Query) else []
    return names
