"""What commands print: JSON lines for programs; tables that are coloured in a terminal and plain text in a pipe."""

from __future__ import annotations

import dataclasses
import datetime
import json
import uuid
from collections.abc import Collection, Sequence

import rich_click as click
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

GAP = "  "


def print_json(value: object) -> None:
    """Print one JSON value on one line. Dataclasses become objects, dates ISO 8601, UUIDs text."""
    click.echo(json.dumps(value, default=_plain, ensure_ascii=False))


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    title: str | None = None,
    right: Collection[str] = (),
) -> None:
    """Print a table. In a pipe: one line per row, columns two spaces apart, never cut or folded.

    Args:
        columns: headings.
        rows: one value per column each; None prints as ``-``.
        title: a line above the table.
        right: headings of columns that go to the right, besides those that hold nothing but numbers.
    """
    cells = [[printable(value) for value in row] for row in rows]
    to_right = [column in right or _numbers([row[at] for row in rows]) for at, column in enumerate(columns)]
    console = Console()
    if console.is_terminal:
        _print_rich(console, columns, cells, to_right, title)
    else:
        _print_plain(columns, cells, to_right, title)


def printable(value: object) -> str:
    """Text of one cell, with control characters written as escapes: an id must not be able to steer the terminal."""
    if value is None:
        return "-"
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in str(value))


def _numbers(values: list[object]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(isinstance(value, (int, float)) for value in present)


def _print_rich(
    console: Console, columns: Sequence[str], cells: list[list[str]], to_right: list[bool], title: str | None
) -> None:
    table = Table(box=box.SIMPLE_HEAD, title=title and Text(title), title_justify="left", title_style="bold")
    for column, shift in zip(columns, to_right, strict=True):
        table.add_column(Text(column), justify="right" if shift else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def _print_plain(columns: Sequence[str], cells: list[list[str]], to_right: list[bool], title: str | None) -> None:
    if title:
        click.echo(title)
    lines = [list(columns), *cells]
    widths = [max(cell_len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        padded = []
        for cell, width, shift in zip(line, widths, to_right, strict=True):
            space = " " * (width - cell_len(cell))
            padded.append(space + cell if shift else cell + space)
        click.echo(GAP.join(padded).rstrip())


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
