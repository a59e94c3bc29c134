"""How ``selectq explain --check`` goes from server to server and prints what differs."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from selectq.cli.output import print_json
from selectq.errors import QueryNotFoundError

if TYPE_CHECKING:
    from selectq.plans.compare import Difference

SIZES = (20_000, 100_000)
"""Rows that baselines are written for; a check takes the last."""

COLOURS = {"-": "red", "+": "green"}


def check_plans(
    urls: tuple[str, ...], name: str | None, sizes: tuple[int, ...], update: bool, add: bool, as_json: bool
) -> list[Difference]:
    """Check each server in turn; what was found."""
    from selectq.cli.sql import catalogue
    from selectq.embedded import embedded_postgres
    from selectq.plans import check, checkout

    known = catalogue()
    wanted = [query for query in known if name in (None, query.name)]
    if not wanted:
        raise QueryNotFoundError(f"no query {name!r}; 'selectq sql list' shows what there is")
    differences: list[Difference] = []
    chosen = sizes or (SIZES if update or add else SIZES[-1:])
    workloads = [workload for rows in chosen for workload in checkout.workloads(rows).values()]
    with ExitStack() as stack:
        for url in urls or [stack.enter_context(embedded_postgres())]:
            found = check.look(url, wanted, workloads, lambda text: click.echo(text, err=True))
            if update or add:
                written(check.update(found, known, checkout.BASELINES, add), as_json)
            left = check.judge(found, known, checkout.BASELINES)
            differences += left
            report(left, as_json)
            if not as_json:
                click.echo(f"{found.server}: {len(found.places)} plans, {len(left) or 'no'} differences")
    return differences


def written(paths: list[Path], as_json: bool) -> None:
    for path in paths:
        if as_json:
            print_json({"written": path.as_posix()})
        else:
            click.echo(f"written: {path}")


def report(differences: list[Difference], as_json: bool) -> None:
    """Everything about one plan together, with the lines that differ at the end."""
    if as_json:
        for difference in differences:
            print_json(asdict(difference) | {"subjects": sorted(difference.subjects)})
        return
    for (query, place), group in groupby(differences, key=lambda each: (each.query, each.place)):
        same = list(group)
        click.echo(" ".join(word for word in (same[0].server, query, place) if word))
        for each in same:
            click.echo(f"  {each.rule}: {each.reason}")
        for line in next((each.diff for each in same if each.diff), ()):
            click.echo(f"    {click.style(line, fg=COLOURS.get(line[:1]))}")
