"""Live progress of the demo, on stderr: bars in a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from selectq.demo.play import Outcome
from selectq.demo.stories import Story

LINES_PER_RUN = 4

Begin = Callable[[Story, str, int], Callable[[Outcome], None]]
"""Story, method and passes at most -> what to call after each pass."""


@contextmanager
def progress(console: Console, quiet: bool = False) -> Iterator[Begin]:
    """Show the runs of the demo as they go.

    Args:
        console: where to.
        quiet: show bars only, and nothing where there is no terminal.
    """
    if console.is_terminal:
        with _bars(console) as begin:
            yield begin
    elif quiet:
        yield lambda story, method, passes: lambda outcome: None
    else:
        yield _lines(console)


@contextmanager
def _bars(console: Console) -> Iterator[Begin]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=10),
        TextColumn("pass"),
        MofNCompleteColumn(),
        TextColumn("{task.fields[started]}"),
    )
    with Progress(*columns, console=console) as bars:

        def begin(story: Story, method: str, passes: int) -> Callable[[Outcome], None]:
            bar = bars.add_task(f"{story.name}: {method}", total=passes, started="")

            def after_pass(outcome: Outcome) -> None:
                done = outcome.passes if outcome.first is not None else passes
                bars.update(bar, completed=outcome.passes, total=done, started=_started(outcome))

            return after_pass

        yield begin


def _lines(console: Console) -> Begin:
    def begin(story: Story, method: str, passes: int) -> Callable[[Outcome], None]:
        every = max(passes // LINES_PER_RUN, 1)

        def after_pass(outcome: Outcome) -> None:
            if outcome.passes % every == 0 or outcome.first is not None:
                line = f"{story.name}: {method}: pass {outcome.passes} of at most {passes}, {_started(outcome)}"
                console.print(line, soft_wrap=True, markup=False, highlight=False)

        return after_pass

    return begin


def _started(outcome: Outcome) -> str:
    return "started: " + ", ".join(f"{dag_id} {count:,}" for dag_id, count in outcome.started.items())
