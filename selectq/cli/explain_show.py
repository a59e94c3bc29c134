"""How ``selectq explain`` prints one plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from selectq.cli.output import print_json, print_table, printable

if TYPE_CHECKING:
    from selectq.plans.model import Explained


def print_explained(explained: Explained, as_json: bool) -> None:
    from selectq.plans import show

    if as_json:
        print_json(show.as_object(explained))
        return
    plan = explained.plan
    for line in show.heading(explained):
        click.echo(printable(line))
    for note in plan.notes:
        click.echo(f"note: {note}")
    click.echo()
    for guide, step, numbers in show.tree(plan):
        click.echo(guide + printable(step) + (click.style(f"  ({numbers})", dim=True) if numbers else ""))
    columns, rows = show.table_rows(plan)
    if rows:
        click.echo()
        print_table(columns, rows)
    if plan.pages is not None:
        click.echo(f"\nShared buffers, hit or read: {plan.pages:,} pages")
    if plan.handlers:
        click.echo()
        print_table(("counter", "count"), list(plan.handlers.items()))
