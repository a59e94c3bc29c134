"""Parameters as the tree has them."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from selectq.catalogue import Query
from selectq.checks.parsing import sql_of


def check_parameters(query: Query, tree: exp.Expr) -> Iterator[str]:
    """Declared = used, and no parameter in a driver's own style (``?``, ``$1``, ``@x``, ``%s``)."""
    used = {node.name for node in tree.find_all(exp.Placeholder)}
    for name in sorted(used - query.parameter_names):
        yield f"parameter :{name} is used but not declared" if name else "a parameter without a name; expected :name"
    for name in sorted(query.parameter_names - used):
        yield f"parameter {name} is declared but not used"
    for node in tree.find_all(exp.Parameter, exp.SessionParameter):
        yield f"{sql_of(query, node)} is no parameter of the catalogue's kind; expected :name"
