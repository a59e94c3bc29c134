"""``selectq doctor``: whether a database is what selectq needs."""

from __future__ import annotations

import rich_click as click
from click.exceptions import Exit

from selectq.cli.options import db_option, json_option
from selectq.cli.output import print_json, print_table

WRONG = 1


@click.command()
@db_option(required=True)
@json_option("one object per finding")
def command(db: str, as_json: bool) -> None:
    """Examine a database: server, schema, locks, indexes, statistics, clock, settings.

    Two sessions show that locked rows are skipped. Changes nothing. Exit code 1 if something is wrong: selectq would
    refuse to work, or be slow.

    \b
    Example:
      selectq doctor --db postgresql://user:password@localhost/airflow_like
    """
    from selectq.database import create_engine
    from selectq.doctor import examine

    engine = create_engine(db)
    try:
        found = examine(engine)
    finally:
        engine.dispose()
    if as_json:
        for finding in found:
            print_json(finding)
    else:
        print_table(["topic", "verdict", "finding"], [(each.topic, each.verdict, each.text) for each in found])
    if any(each.verdict == "wrong" for each in found):
        raise Exit(WRONG)
