"""How far a load is, on stderr: a bar in a terminal, a line elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.workloads import Progress as AfterStep


@contextmanager
def loading(console: Console, what: str) -> Iterator[AfterStep]:
    """Show the load that happens inside the block."""
    if not console.is_terminal:
        console.print(f"{what}: loading", soft_wrap=True, markup=False, highlight=False)
        yield lambda done, total: None
        return
    columns = (TextColumn("{task.description}: loading"), BarColumn(bar_width=30), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task(what, total=None)

        def after_step(done: int, total: int) -> None:
            bars.update(bar, completed=done, total=total)

        yield after_step
