"""Frames of windows: MySQL buffers every window whose frame is the default one, RANGE."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from selectq.catalogue import Query
from selectq.checks.parsing import sql_of

UNFRAMED = (exp.Lag, exp.Lead, exp.Rank, exp.DenseRank, exp.Ntile, exp.PercentRank, exp.CumeDist)
"""Functions that sqlglot counts as aggregates but that look at the whole partition, whatever the frame."""


def check_windows(query: Query, tree: exp.Expr) -> Iterator[str]:
    """Every aggregate over an ordered window names a ROWS frame."""
    for call in tree.find_all(exp.Window):
        function = call.this.this if isinstance(call.this, exp.Filter) else call.this
        if not isinstance(function, exp.AggFunc) or isinstance(function, UNFRAMED):
            continue
        window = definition(call)
        spec = window.args.get("spec")
        if window.args.get("order") and (spec is None or spec.args.get("kind") != "ROWS"):
            yield f"{sql_of(query, call)}: an ordered window needs a ROWS frame (ROWS UNBOUNDED PRECEDING)"


def definition(call: exp.Window) -> exp.Window:
    """The window itself, or the one that it names in the WINDOW clause."""
    select = call.find_ancestor(exp.Select)
    windows = select.args.get("windows") if select and call.alias else None
    return next((window for window in windows or [] if window.name == call.alias), call)
