"""``selectq why``: what keeps a task instance from starting, in one line."""

from __future__ import annotations

import json

import rich_click as click

from selectq.cli.options import db_option, json_option
from selectq.cli.output import print_json, printable
from selectq.errors import InvalidParameterError, SelectqError


@click.command()
@click.argument("dag_id")
@click.argument("run_id")
@click.argument("task_id")
@click.argument("map_index", type=int, required=False)
@db_option(required=True)
@click.option("--max-tis", type=int, default=512, show_default=True, help="Size of the pass to explain.")
@click.option("--executor-slots", metavar="JSON", default="{}", help='Free slots of executors: {"celery": 3}.')
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    help="Most instances of a mapped task to explain.",
)
@json_option("one object per task instance")
def command(
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: int | None,
    db: str,
    max_tis: int,
    executor_slots: str,
    limit: int,
    as_json: bool,
) -> None:
    """Say what keeps a task instance from starting: which limit, how full, what would let it go.

    Of one that is not scheduled yet: its trigger rule, what that counts, and the tasks that it waits for.
    Without MAP_INDEX, all instances of a mapped task. Changes and locks nothing.

    \b
    Example:
      selectq why etl 2026-11-30 load --db postgresql://user:password@localhost/airflow_like
    """
    from selectq.database import check_server, connect, create_engine
    from selectq.schema_status import check_schema
    from selectq.why import why

    slots = parsed(executor_slots)
    engine = create_engine(db)
    try:
        with connect(engine) as connection:
            check_server(connection)
            check_schema(connection)
            found = why(
                connection, dag_id, run_id, task_id, map_index, max_tis=max_tis, executor_slots=slots, page_size=limit
            )
    finally:
        engine.dispose()
    if not found:
        which = "" if map_index is None else f" with map_index {map_index}"
        raise SelectqError(f"no task instance of dag {dag_id!r}, run {run_id!r}, task {task_id!r}{which}")
    for row in found:
        if as_json:
            print_json(row)
        else:
            name = " ".join(row.key[:3]) + (f" [{row.key[3]}]" if row.key[3] >= 0 else "")
            click.echo(f"{printable(name)} {printable(row.text)}")
    if len(found) == limit and map_index is None:
        click.echo(f"(the first {limit}; there may be more: --limit)", err=True)


def parsed(executor_slots: str) -> dict[str, int]:
    try:
        value = json.loads(executor_slots)
    except json.JSONDecodeError as error:
        raise InvalidParameterError("executor_slots", f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidParameterError("executor_slots", f'must be an object like {{"celery": 3}}, not {executor_slots}')
    return value
