"""``selectq migrate``: make, change, inspect or remove selectq's tables."""

from __future__ import annotations

import rich_click as click

from selectq.cli.options import db_option, json_option
from selectq.cli.output import print_json
from selectq.database import LOWEST, create_engine
from selectq.migrate import migrate, render_sql, status
from selectq.schema_status import Status, explain


@click.command()
@db_option(otherwise="only --sql with --dialect works")
@click.option("--to", "revision", metavar="REV", default="head", show_default=True, help="A revision, head or base.")
@click.option("--sql", "print_sql", is_flag=True, help="Print the SQL from an empty database to REV; connect nowhere.")
@click.option("--dialect", type=click.Choice(sorted(LOWEST)), help="For --sql without --db.")
@click.option("--status", "only_status", is_flag=True, help="Say where the database stands; change nothing.")
@json_option("one object")
def command(
    db: str | None, revision: str, print_sql: bool, dialect: str | None, only_status: bool, as_json: bool
) -> None:
    """Bring selectq's tables to a revision, up or down.

    Going down drops what later revisions added, rows included; --to base removes everything of selectq.
    A database of a newer selectq, or with tables of the same names that selectq did not make, is refused.

    \b
    Examples:
      selectq migrate --db postgresql://user:password@localhost/scheduler
      selectq migrate --db mysql://user:password@localhost/scheduler --status
      selectq migrate --sql --dialect mysql > selectq.sql
    """
    if print_sql and only_status:
        raise click.UsageError("--sql and --status exclude each other.")
    if dialect and not print_sql:
        raise click.UsageError("--dialect is for --sql.")
    if print_sql:
        show_sql(chosen_dialect(db, dialect), revision, as_json)
        return
    if not db:
        raise click.UsageError("Missing option '--db' (or the environment variable SELECTQ_DB).")
    engine = create_engine(db)
    try:
        show_status(status(engine) if only_status else migrate(engine, revision), as_json)
    finally:
        engine.dispose()


def chosen_dialect(db: str | None, dialect: str | None) -> str:
    if dialect:
        return dialect
    if not db:
        raise click.UsageError("--sql needs --dialect or --db.")
    return create_engine(db).dialect.name


def show_sql(dialect: str, revision: str, as_json: bool) -> None:
    sql = render_sql(dialect, revision)
    if as_json:
        print_json({"dialect": dialect, "revision": revision, "sql": sql})
    else:
        click.echo(sql, nl=False)


def show_status(found: Status, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    text = explain(found)
    click.echo(f"{text[0].upper()}{text[1:]}.")
    if found.pending:
        click.echo(f"To apply: {', '.join(found.pending)}")
