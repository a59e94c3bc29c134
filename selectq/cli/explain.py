"""``selectq explain``: how a server runs a query, and whether it still does so as it should."""

from __future__ import annotations

import rich_click as click

from selectq.cli.explain_check import check_plans
from selectq.cli.explain_show import print_explained
from selectq.cli.options import json_option, param_option
from selectq.cli.sql import catalogue, complete_name


@click.command()
@click.argument("query", shell_complete=complete_name, required=False)
@click.option(
    "--db",
    "urls",
    metavar="URL",
    multiple=True,
    envvar="SELECTQ_DB",
    show_envvar=True,
    help="A PostgreSQL or MySQL server: postgresql://user:password@host:port/name or mysql://... "
    "With --check repeatable; without it: an embedded Postgres, started for this command.",
)
@click.option("--analyze", is_flag=True, help="Run the query, in a transaction that is rolled back.")
@param_option()
@click.option("--version", type=int, help="That version, not the newest.")
@click.option("--check", is_flag=True, help="Hold the plans of all queries, or of QUERY, against benchmarks/plans.")
@click.option("--rows", type=int, multiple=True, help="With --check: rows to load, a multiple of 1,000. Repeatable.")
@click.option("--update", is_flag=True, help="With --check: write the plans as they are now to benchmarks/plans.")
@click.option("--add", is_flag=True, help="With --check: write them beside those that are expected there already.")
@json_option("one object; with --check one per difference")
@click.pass_context
def command(
    context: click.Context,
    query: str | None,
    urls: tuple[str, ...],
    analyze: bool,
    given: tuple[str, ...],
    version: int | None,
    check: bool,
    rows: tuple[int, ...],
    update: bool,
    add: bool,
    as_json: bool,
) -> None:
    """Show the plan of a query on a database: its steps, and how each table is read.

    Without --analyze nothing is run but what finds the parameters: a selection, which only reads. With --analyze the
    query is run, and its transaction rolled back; locks of a claim are held that long. A parameter that is not given
    is as a pass would have it now.

    With --check no database of yours is read. Workloads are loaded into scratch databases on the servers, each with
    fresh statistics, statistics from when the tables were empty, and none; the plans are compared with those that are
    committed for that version of the server. This is for a clone of the project. Exit code: 1 if any plan differs.

    \b
    Examples:
      selectq explain selection/select_executable --db postgresql://user:password@localhost/scheduler
      selectq explain selection/claim --analyze --db mysql://user:password@localhost/scheduler
    """
    if check:
        refuse(context, "a check chooses its own", analyze=analyze, param=given, version=version)
        if check_plans(urls, query, rows, update, add, as_json):
            context.exit(1)
        return
    refuse(context, "it goes with --check", rows=rows, update=update, add=add)
    if query is None:
        raise click.UsageError("Missing argument 'QUERY'; or --check for all of them.")
    if len(urls) != 1:
        raise click.UsageError("The plan is that of one database: give --db once.")
    explain_one(urls[0], query, version, given, analyze, as_json)


def refuse(context: click.Context, why: str, **options: object) -> None:
    for name, value in options.items():
        if value not in (None, False, ()):
            raise click.UsageError(f"--{name} can't be used here: {why}.", context)


def explain_one(url: str, name: str, version: int | None, given: tuple[str, ...], analyze: bool, as_json: bool) -> None:
    from selectq.cli.sql_values import given_values
    from selectq.database import check_server, connect, create_engine
    from selectq.plans.explain import explain
    from selectq.schema_status import check_schema

    engine = create_engine(url)
    try:
        chosen = catalogue().get(name, engine.dialect.name, version)
        values = given_values(chosen, given)
        with connect(engine) as connection:
            check_server(connection)
            check_schema(connection)
            connection.rollback()
            explained = explain(connection, chosen, values, analyze)
    finally:
        engine.dispose()
    print_explained(explained, as_json)
