"""A progress bar for ``selectq parse-queue drain``, on stderr and only in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from selectq.parsing.drain import Done, Drain


@contextmanager
def progress(console: Console, work: Drain) -> Iterator[Callable[[Done], None]]:
    """Show how many of the files that are known to wait are done.

    Yields:
        What to call after each file.
    """
    if not console.is_terminal:
        yield lambda done: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as bars:
        bar = bars.add_task("", total=None)

        def note(done: Done) -> None:
            bars.update(bar, completed=work.done, total=max(work.done, work.expected), description=done.path)

        yield note
