"""Parameters as the tree has them."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from selectq.catalogue import Query
from selectq.checks.parsing import sql_of


def check_parameters(query: Query, tree: exp.Expr) -> Iterator[str]:
    """Declared = used, and no parameter in a driver's own style (``?``, ``$1``, ``@x``, ``%s``)."""
    named = {node.name for node in tree.find_all(exp.Placeholder) if not node.args.get("jdbc")} - {""}
    for name in sorted(named - query.parameter_names):
        yield f"parameter :{name} is used but not declared"
    for name in sorted(query.parameter_names - named):
        yield f"parameter {name} is declared but not used"
    for node in tree.find_all(exp.Placeholder, exp.Parameter, exp.SessionParameter):
        if node.name not in named:
            yield f"{sql_of(query, node)} is no parameter of the catalogue's kind; expected :name"
