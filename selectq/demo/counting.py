"""How much a pass asks of the database: statements sent and rows that come back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa


@dataclass
class Traffic:
    """Counts, added to as statements run. BEGIN, COMMIT and ROLLBACK are not counted."""

    statements: int = 0
    rows: int = 0


@contextmanager
def count_traffic(engine: sa.Engine, traffic: Traffic) -> Iterator[None]:
    """Add everything that runs on ``engine`` inside the block to ``traffic``.

    Rows are those the server sent: of every SELECT and RETURNING, whether the caller looks at them or not. An UPDATE
    without RETURNING sends none.
    """

    def after(
        connection: sa.Connection, cursor: Any, statement: str, parameters: Any, context: Any, many: bool
    ) -> None:
        traffic.statements += len(parameters) if many else 1
        if cursor.description is not None:
            traffic.rows += max(cursor.rowcount, 0)

    sa.event.listen(engine, "after_cursor_execute", after)
    try:
        yield
    finally:
        sa.event.remove(engine, "after_cursor_execute", after)
