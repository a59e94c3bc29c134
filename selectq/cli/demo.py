"""``selectq demo``: the usual scheduler loop and selectq on the same backlogs."""

from __future__ import annotations

import shutil

import rich_click as click
import sqlalchemy as sa
from rich.console import Console

from selectq.cli.options import db_option, json_option
from selectq.cli.output import print_json, print_table
from selectq.demo.play import METHODS, Outcome, play
from selectq.demo.progress import Begin, progress
from selectq.demo.report import sentence, summary, table
from selectq.demo.stories import STORIES, Story
from selectq.scratch import scratch_or_embedded

TEXT_WIDTH = 100
NAMES = {"postgresql": "PostgreSQL", "mysql": "MySQL"}


@click.command()
@db_option()
@click.option(
    "--story", type=click.Choice([*STORIES, "all"]), default="all", show_default=True, help="Which backlog to play."
)
@click.option(
    "--passes",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Give up on the starved work after that many passes.",
)
@json_option("one line per story")
def command(db: str | None, story: str, passes: int, as_json: bool) -> None:
    """See what the usual scheduler loop starves, and what selectq starts instead.

    Two backlogs are worked off twice each: by fetching the first max_tis task instances and dropping those that do not
    fit, and by selectq. What starts in a pass is done before the next one. A run ends once the work that waits behind
    the others has started.

    On a server of yours, everything happens in a schema (PostgreSQL) or database (MySQL) with a name of its own, which
    is dropped at the end.

    \b
    Examples:
      selectq demo
      selectq demo --story pools --passes 1000
      selectq demo --db mysql://root:secret@localhost/ --json
    """
    stderr = Console(stderr=True)
    if db is None and (stderr.is_terminal or not as_json):
        stderr.print("Starting an embedded Postgres", highlight=False)
    chosen = [make() for name, make in STORIES.items() if story in (name, "all")]
    with scratch_or_embedded(db) as engine:
        with progress(stderr, quiet=as_json) as begin:
            played = [(tale, _play(engine, tale, passes, begin)) for tale in chosen]
        if not as_json:
            _print_text(
                "A pass is one turn of a scheduler's loop. What starts in a pass is done before the next one. "
                f"A run ends once the starved work has started, or after pass {passes:,}."
            )
        for tale, outcomes in played:
            if as_json:
                print_json(summary(tale, engine.dialect.name, outcomes))
            else:
                _print(engine, tale, outcomes)


def _play(engine: sa.Engine, story: Story, passes: int, begin: Begin) -> list[Outcome]:
    return [play(engine, story, method, passes, begin(story, method, passes)) for method in METHODS]


def _print(engine: sa.Engine, story: Story, outcomes: list[Outcome]) -> None:
    version = ".".join(str(part) for part in (engine.dialect.server_version_info or ())[:3])
    _print_text(f"{story.name}, on {NAMES[engine.dialect.name]} {version}: {story.about}")
    click.echo()
    columns, rows = table(story, outcomes)
    print_table(columns, rows, right=columns[1:])
    _print_text(sentence(story, outcomes))


def _print_text(text: str) -> None:
    width = min(shutil.get_terminal_size().columns, TEXT_WIDTH)
    click.echo(f"\n{click.wrap_text(text, width=width)}")
