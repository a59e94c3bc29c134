"""The command ``selectq``: a group whose commands are the files beside this one."""

from __future__ import annotations

import rich_click as click

from selectq.cli.exits import plain_exits
from selectq.cli.lazy import LazyGroup


class SelectqGroup(LazyGroup):
    """The lazy group, with selectq's exit codes and messages."""

    def invoke(self, ctx: click.Context) -> object:
        with plain_exits():
            return super().invoke(ctx)


@click.group(
    cls=SelectqGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        # No boxes, so that help reads well in a pipe; colour only where rich finds a terminal, GitHub's logs included.
        "rich_help_config": {
            "theme": "default-slim",
            "force_terminal": None,
            "text_paragraph_linebreaks": "\n\n",
            "padding_helptext_first_line": (0, 0, 1, 0),
        },
    },
)
@click.version_option(package_name="selectq", prog_name="selectq", message="%(prog)s %(version)s")
def main() -> None:
    """Which task instances may start now: exact selection in SQL, on PostgreSQL and MySQL.

    \b
    Examples:
      selectq demo
      selectq COMMAND --help
      eval "$(_SELECTQ_COMPLETE=bash_source selectq)"   (completes in bash)
    """
