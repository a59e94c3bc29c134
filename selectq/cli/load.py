"""``selectq load``: dags from a YAML file into the tables."""

from __future__ import annotations

import rich_click as click

from selectq.cli.options import db_option, json_option
from selectq.cli.output import print_json, printable


@click.command()
@click.argument("file", type=click.Path())
@db_option(required=True)
@json_option("one object per dag")
def command(file: str, db: str, as_json: bool) -> None:
    """Define the dags of a YAML file: tasks, edges, groups, and all that deciding trigger rules needs.

    What is there already is changed to what the file says; runs and task instances are left alone. Nothing is written
    if anything is wrong: a cycle, an unknown upstream, a teardown without setup, a bad rule, an id that stands twice.

    \b
    Example:
      selectq load docs/examples/reports.yaml --db postgresql://user:password@localhost/scheduler
    """
    from selectq.dag_file import read_dag_file
    from selectq.database import create_engine
    from selectq.defining import define

    dags = read_dag_file(file)
    engine = create_engine(db)
    try:
        define(engine, *dags)
    finally:
        engine.dispose()
    for dag in dags:
        if as_json:
            print_json({"dag_id": dag.dag_id, "tasks": len(dag.tasks), "groups": len(dag.groups)})
        else:
            tasks = "1 task" if len(dag.tasks) == 1 else f"{len(dag.tasks)} tasks"
            click.echo(f"{printable(dag.dag_id)}: {tasks}")
