"""``selectq parse-queue``: look at the parse queue, fill it from a folder, work it off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from selectq.cli.options import db_option, json_option
from selectq.cli.output import print_json, print_table, printable

if TYPE_CHECKING:
    from selectq.parsing import ParseQueue, Settings

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
BUNDLE = "dags"
GRACE = 30
"""Seconds between the end of a command that took too long and the time at which its file would be given back."""
bundle_option = click.option(
    "--bundle", default=BUNDLE, show_default=True, help="Name of the folder's files in the queue."
)


@contextmanager
def opened(db: str, settings: Settings | None = None, claimed_by: str | None = None) -> Iterator[ParseQueue]:
    from selectq.database import create_engine
    from selectq.parsing import ParseQueue

    engine = create_engine(db)
    try:
        yield ParseQueue(engine, settings, claimed_by=claimed_by)
    finally:
        engine.dispose()


@click.group()
def command() -> None:
    """Show the parse queue, scan a folder for dag files, run a command on each file.

    \b
    Examples:
      selectq parse-queue scan dags
      selectq parse-queue status
    """


@command.command("status")
@click.option("--waiting", type=click.IntRange(0, 1_000_000), default=0, help="List so many requests of each lane too.")
@db_option(required=True)
@json_option("one object")
def status(waiting: int, db: str, as_json: bool) -> None:
    """Print depth and oldest age of each lane, and the counts of the queue.

    parses, merged and given_back are of the files that are there now.

    \b
    Example:
      selectq parse-queue status --waiting 10 --db postgresql://user:password@localhost/scheduler
    """
    with opened(db) as queue:
        found = queue.metrics()
        listed = queue.waiting(waiting) if waiting else []
    if as_json:
        print_json({"metrics": found, "waiting": listed})
        return
    print_table(
        ("lane", "waiting", "oldest"), [(lane.lane, lane.depth, age(lane.oldest_age_ms)) for lane in found.lanes]
    )
    counts = ("files", "being_read", "outstanding", "refills", "breathers", "parses", "merged", "given_back")
    click.echo(f"\n{', '.join(f'{name} {getattr(found, name):,}' for name in counts)}")
    if listed:
        click.echo()
        print_table(
            ("lane", "bundle", "path", "kind", "merged", "age"),
            [(row.lane, row.bundle, row.path, row.kind, row.merged, age(row.age_ms)) for row in listed],
        )


@command.command("scan")
@click.argument("folder", type=FOLDER)
@bundle_option
@click.option("--pattern", default="*.py", show_default=True, help="Which files.")
@click.option("--digest", is_flag=True, help="Read every file, to see changes that leave its modification time alone.")
@db_option(required=True)
@json_option("one object")
def scan(folder: Path, bundle: str, pattern: str, digest: bool, db: str, as_json: bool) -> None:
    """Compare FOLDER with what the queue knows: queue new and changed files, forget deleted ones.

    Hidden folders and __pycache__ are passed over.

    \b
    Example:
      selectq parse-queue scan dags --bundle main --db postgresql://user:password@localhost/scheduler
    """
    with opened(db) as queue:
        found = queue.scan_folder(bundle, folder, pattern, digest)
    if as_json:
        print_json(found)
        return
    click.echo(f"{found.found:,} files: {found.new:,} new, {found.changed:,} changed, {found.forgotten:,} deleted.")
    for name in found.skipped:
        click.echo(f"skipped {printable(name)}", err=True)


@command.command("drain", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("words", nargs=-1, required=True, metavar="CMD...", type=click.UNPROCESSED)
@click.option("--folder", type=FOLDER, help="Where the files are: the command gets the path below it.")
@click.option("--slots", type=click.IntRange(1, 1000), default=2, show_default=True, help="Files at a time.")
@click.option("--timeout", type=float, default=300.0, show_default=True, help="Seconds that a command may take.")
@click.option("--min-file-process-interval", type=float, default=30.0, show_default=True, help="In seconds.")
@click.option("--max-file-process-interval", type=float, default=120.0, show_default=True, help="In seconds; 0 = off.")
@click.option("--callback-share", type=float, default=1.0, show_default=True, help="Slots for callbacks, 0 to 1.")
@db_option(required=True)
@json_option("one object per file")
@click.pass_context
def drain(
    context: click.Context,
    words: tuple[str, ...],
    folder: Path | None,
    slots: int,
    timeout: float,
    min_file_process_interval: float,
    max_file_process_interval: float,
    callback_share: float,
    db: str,
    as_json: bool,
) -> None:
    """Run CMD on each file that waits or is due, several at a time, until none is left.

    The file's path is put behind CMD. Callbacks come in on its standard input, a JSON object a line. A line that it
    prints is the id of a dag that it has imported. If its exit code is not 0, the end of its standard error is kept as
    the file's error. SELECTQ_BUNDLE tells the bundle; SELECTQ_PARSE is 1 for a parse, 0 for callbacks alone.

    Options of this command come before CMD. Exit code: 0, or 1 if a command failed or took too long.

    \b
    Example:
      export SELECTQ_DB=postgresql://user:password@localhost/scheduler
      selectq parse-queue drain --folder dags --slots 4 python -m py_compile
    """
    from rich.console import Console

    from selectq.cli.parse_progress import progress
    from selectq.parsing import Settings
    from selectq.parsing.drain import Drain, processor_name

    settings = Settings(min_file_process_interval, max_file_process_interval, callback_share, timeout + GRACE)
    failed = 0
    with opened(db, settings, processor_name()) as queue:
        work = Drain(queue, words, folder, slots, timeout)
        with progress(Console(stderr=True), work) as note:
            for done in work:
                failed += done.error is not None
                note(done)
                if as_json:
                    print_json(done)
                elif done.error is not None:
                    click.echo(f"{printable(done.path)}: {printable(done.error.splitlines()[-1])}", err=True)
    if not as_json:
        click.echo(f"{work.done:,} files read, {failed:,} failed.")
    context.exit(1 if failed else 0)


def age(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else f"{milliseconds / 1000:,.0f} s"
