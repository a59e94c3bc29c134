"""Code for people and pipes: coloured in a terminal, byte for byte elsewhere."""

from __future__ import annotations

import rich_click as click
from rich.console import Console
from rich.syntax import Syntax


def print_code(text: str, language: str) -> None:
    """Print lines of code; ``text`` ends with a line break or is empty."""
    console = Console()
    if console.is_terminal:
        coloured = Syntax("", language, background_color="default").highlight(text)
        console.print(coloured, soft_wrap=True, end="")
    else:
        click.echo(text, nl=False)
