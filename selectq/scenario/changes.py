"""What a scenario does by hand between two steps."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from selectq import schema
from selectq.rows import Key


def make_changes(
    connection: sa.Connection, finish: Iterable[Key], set_state: Iterable[tuple[Key, str | None]]
) -> None:
    """Let rows succeed, then put rows into the states given."""
    for key in finish:
        put(connection, key, "success")
    for key, state in set_state:
        put(connection, key, state)


def put(connection: sa.Connection, key: Key, state: str | None) -> None:
    """Move a row by hand; a claim on it is void then."""
    table = schema.metadata.tables["task_instance"]
    names = ("dag_id", "run_id", "task_id", "map_index")
    row = [table.c[name] == value for name, value in zip(names, key, strict=True)]
    connection.execute(sa.update(table).where(*row).values(state=state, claim_token=None))
