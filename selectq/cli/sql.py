"""``selectq sql``: the query files, listed, shown, filled in, checked, compared and generated."""

from __future__ import annotations

import difflib
from itertools import groupby
from typing import TYPE_CHECKING

import rich_click as click
from click.shell_completion import CompletionItem

from selectq.cli.code import print_code
from selectq.cli.options import db_option, json_option, param_option
from selectq.cli.output import print_json, print_table

if TYPE_CHECKING:
    from selectq.catalogue import Catalogue, Query
    from selectq.checks import Finding

ENGINES = ("postgresql", "mysql")


def catalogue() -> Catalogue:
    from selectq import catalogue as files

    return files.Catalogue.load(files.ROOT)


def complete_name(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    names = sorted({query.name for query in catalogue()})
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


name_argument = click.argument("name", shell_complete=complete_name)
engine_option = click.option("--engine", type=click.Choice(ENGINES), help="That engine's file.")
version_option = click.option("--version", type=int, help="That version, not the newest.")


@click.group()
def command() -> None:
    """List, show, render, check, compare and generate the query files.

    \b
    Examples:
      selectq sql list
      selectq sql show selection/claim
    """


@command.command("list")
@engine_option
@json_option("one object per query and version")
def list_queries(engine: str | None, as_json: bool) -> None:
    """List the queries: name, version, kind of result, engines, purpose.

    \b
    Example:
      selectq sql list --engine mysql
    """
    queries = [query for query in catalogue() if engine in (None, query.dialect)]
    queries.sort(key=lambda query: (query.name, query.version, ENGINES.index(query.dialect)))
    rows = []
    for (name, version), group in groupby(queries, key=lambda query: (query.name, query.version)):
        same = list(group)
        rows.append((name, version, same[0].result, [query.dialect for query in same], same[0].purpose))
    columns = ("name", "version", "result", "engines", "purpose")
    if as_json:
        for row in rows:
            print_json(dict(zip(columns, row, strict=True)))
        return
    print_table(columns, [(*row[:3], ", ".join(row[3]), row[4]) for row in rows])


@command.command("show")
@name_argument
@engine_option
@version_option
@json_option("one object: header, parameters, columns and statement")
def show(name: str, engine: str | None, version: int | None, as_json: bool) -> None:
    """Print a query file as it stands, header and all.

    Without --engine it is PostgreSQL's, if that has one.

    \b
    Example:
      selectq sql show selection/claim --engine mysql
    """
    query = chosen(name, engine, version)
    if as_json:
        print_json(as_object(query))
    else:
        print_code(query.path.read_text(encoding="utf-8"), "sql")


@command.command("render")
@name_argument
@click.option("--engine", type=click.Choice(ENGINES), required=True, help="The engine to write literals for.")
@param_option()
@version_option
@json_option("one object")
def render(name: str, engine: str, given: tuple[str, ...], version: int | None, as_json: bool) -> None:
    """Print a query with literals for its parameters, ready for psql or the mysql client.

    What has an obvious value may be left out: max_tis is 512, filters let everything through, pages are the first.

    \b
    Examples:
      selectq sql render selection/blocked_by --engine mysql --param dag_id=etl
      selectq sql render selection/open_pools --engine mysql | mysql scheduler
    """
    from selectq.cli.sql_values import values_for
    from selectq.literals import render as filled

    query = chosen(name, engine, version)
    sql = filled(query, values_for(query, given))
    if as_json:
        print_json({"name": query.name, "version": query.version, "engine": engine, "sql": sql})
    else:
        print_code(f"-- {query.name}, version {query.version}, for {engine}\n{sql};\n", "sql")


@command.command("check")
@db_option(otherwise="the files alone are checked")
@json_option("one object per finding")
@click.pass_context
def check(context: click.Context, db: str | None, as_json: bool) -> None:
    """Check every query file: headers, names, locks, both engines alike, nothing released changed.

    With --db that server prepares each of its statements too. Exit code: 1 if anything is found.

    \b
    Example:
      selectq sql check --db mysql://user:password@localhost/scheduler
    """
    from selectq import catalogue as files
    from selectq.checks import check_files

    findings = check_files(files.ROOT)
    if db:
        findings = sorted({*findings, *prepared(db)})
    for finding in findings:
        if as_json:
            print_json(finding)
        else:
            click.echo(finding)
    if findings:
        context.exit(1)
    if not as_json:
        click.echo(f"{sum(1 for _ in catalogue())} files, nothing found.")


def prepared(db: str) -> list[Finding]:
    """Findings of the server."""
    from selectq import catalogue as files
    from selectq.checks import check_database
    from selectq.database import check_server, connect, create_engine

    engine = create_engine(db)
    try:
        with connect(engine) as connection:
            check_server(connection)
            return check_database(connection, files.ROOT)
    finally:
        engine.dispose()


@command.command("diff")
@name_argument
@click.argument("old", type=int, metavar="V1")
@click.argument("new", type=int, metavar="V2")
@engine_option
def diff(name: str, old: int, new: int, engine: str | None) -> None:
    """Print what changed between two versions of a query.

    \b
    Example:
      selectq sql diff selection/claim 1 2 --engine mysql
    """
    first, second = (chosen(name, engine, version) for version in (old, new))
    lines = difflib.unified_diff(lines_of(first), lines_of(second), first.file, second.file)
    print_code("".join(lines), "diff")


@command.command("generate")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit with 1 if anything would change.")
@json_option("one object per file")
@click.pass_context
def generate(context: click.Context, only_check: bool, as_json: bool) -> None:
    """Write the generated query files and CATALOGUE.md.

    This is for a clone of the project, not for an installed package.

    \b
    Example:
      selectq sql generate --check
    """
    from selectq import catalogue as files
    from selectq.generate.write import outdated, write

    changed = list(outdated(files.ROOT)) if only_check else write(files.ROOT)
    for path in changed:
        if as_json:
            print_json({"file": path.as_posix(), "written": not only_check})
        else:
            click.echo(f"{'outdated' if only_check else 'written'}: {path}")
    if not changed and not as_json:
        click.echo("Everything is up to date.")
    if changed and only_check:
        context.exit(1)


def chosen(name: str, engine: str | None, version: int | None) -> Query:
    """The query of that engine, or of the first engine that has it."""
    found = catalogue()
    having = [dialect for dialect in ENGINES if any((query.name, query.dialect) == (name, dialect) for query in found)]
    return found.get(name, engine or next(iter(having), ENGINES[0]), version)


def lines_of(query: Query) -> list[str]:
    return query.path.read_text(encoding="utf-8").splitlines(keepends=True)


def as_object(query: Query) -> dict[str, object]:
    return {
        "name": query.name,
        "version": query.version,
        "engine": query.dialect,
        "file": query.file,
        "digest": query.digest,
        "header": dict(query.header),
        "parameters": query.parameters,
        "columns": query.columns,
        "sql": query.sql,
    }
