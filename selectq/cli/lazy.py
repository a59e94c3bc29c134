"""Commands found as files and imported when called, so that ``selectq --help`` does not wait for SQLAlchemy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path

import rich_click as click
from click import Context, HelpFormatter
from click.shell_completion import CompletionItem

PACKAGE = "selectq.cli"
ENTRY = "command"


class LazyGroup(click.RichGroup):
    """Every file of ``selectq/cli`` that defines ``command`` is a command of the file's name, ``_`` written ``-``.

    Lists (help, completion) show the first line of its docstring, read from the source without importing it.
    """

    _listing = False

    @cached_property
    def summaries(self) -> dict[str, str]:
        """Command name -> one-line summary."""
        files = sorted(Path(__file__).parent.glob("*.py"))
        found = {path.stem.replace("_", "-"): summary(path) for path in files}
        return {name: text for name, text in found.items() if text is not None}

    def list_commands(self, ctx: Context) -> list[str]:
        return list(self.summaries)

    def get_command(self, ctx: Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.summaries:
            return None
        if self._listing:
            return click.RichCommand(name=cmd_name, help=self.summaries[cmd_name])
        command: click.Command = getattr(import_module(f"{PACKAGE}.{cmd_name.replace('-', '_')}"), ENTRY)
        return command

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        with self._names_only():
            super().format_options(ctx, formatter)  # type: ignore[arg-type]  # rich-click's are subclasses of click's

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        with self._names_only():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _names_only(self) -> Iterator[None]:
        self._listing = True
        try:
            yield
        finally:
            self._listing = False


def summary(path: Path) -> str | None:
    """First line of the docstring of a command file, or None if the file defines no ``command``."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == ENTRY:
            return (ast.get_docstring(node) or "").split("\n")[0]
    return None
