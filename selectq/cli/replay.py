"""``selectq replay``: scenario files run on a server and compared with what they expect."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import rich_click as click

from selectq.cli.options import db_option, json_option
from selectq.cli.output import print_json, printable
from selectq.errors import ScenarioError

if TYPE_CHECKING:
    import sqlalchemy as sa

    from selectq.scenario.replay import ReplayResult

DIFFERS = 1
WRONG_FILE = 2


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@db_option()
@json_option("one object per file")
@click.pass_context
def command(context: click.Context, files: tuple[str, ...], db: str | None, as_json: bool) -> None:
    """Run scenario files on a database and compare the answers with what the files expect.

    The tables live in a schema (PostgreSQL) or database (MySQL) of their own, dropped afterwards: nothing else on the
    server is touched. Exit code: 0 all as expected, 1 some answers differ, 2 a file is wrong (the others still run).

    \b
    Example:
      selectq replay tests/cases/hot-pool-hides-idle-pool.yaml
    """
    from selectq.database import create_engine
    from selectq.scenario.format import read_scenario_file
    from selectq.scenario.replay import replay
    from selectq.scratch import scratch_or_embedded

    engine_name = create_engine(db).dialect.name if db else "postgresql"
    report = Report(engine_name, as_json)
    with ExitStack() as stack:
        engine: sa.Engine | None = None
        for file in files:
            try:
                scenario = read_scenario_file(file)
            except ScenarioError as error:
                report.wrong(file, error)
                continue
            engine = engine or stack.enter_context(scratch_or_embedded(db or None))
            report.ran(replay(engine, scenario))
    report.end()
    context.exit(report.exit_code)


class Report:
    """Prints what becomes of each file, and keeps count."""

    def __init__(self, engine_name: str, as_json: bool) -> None:
        self.engine_name = engine_name
        self.as_json = as_json
        self.as_expected = 0
        self.differing = 0
        self.wrong_files = 0

    def ran(self, result: ReplayResult) -> None:
        if result.ok:
            self.as_expected += 1
        else:
            self.differing += 1
        if self.as_json:
            print_json(result.as_dict())
            return
        steps = "" if len(result.steps) == 1 else f" ({len(result.steps)} steps)"
        click.echo(f"{'ok' if result.ok else 'differs':8}{printable(result.case)}{steps}")
        for sentence in result.differences:
            click.echo(f"{'':8}{printable(sentence)}")

    def wrong(self, file: str, error: ScenarioError) -> None:
        self.wrong_files += 1
        if self.as_json:
            print_json(
                {
                    "case": None,
                    "engine": self.engine_name,
                    "ok": False,
                    "steps": [],
                    "differences": [],
                    "file": file,
                    "error": str(error),
                }
            )
        click.echo(f"{'error':8}{printable(error)}", err=True)

    def end(self) -> None:
        if self.as_json:
            return
        total = self.as_expected + self.differing + self.wrong_files
        parts = [f"{self.as_expected} of {total} as expected on {self.engine_name}"]
        if self.differing:
            parts.append(f"{self.differing} {'differs' if self.differing == 1 else 'differ'}")
        if self.wrong_files:
            parts.append(f"{self.wrong_files} not run")
        click.echo(", ".join(parts))

    @property
    def exit_code(self) -> int:
        if self.wrong_files:
            return WRONG_FILE
        return DIFFERS if self.differing else 0
