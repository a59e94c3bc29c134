"""What a peer built on SQLAlchemy sends to its database."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa


class Counted:
    """Statements that Airflow sends and the rows that come back, while ``on``."""

    def __init__(self, engine: sa.Engine) -> None:
        self.statements = self.rows = 0
        self.on = False
        sa.event.listen(engine, "after_cursor_execute", self._after)

    def _after(self, connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        if self.on:
            self.statements += 1
            self.rows += max(cursor.rowcount, 0) if cursor.description is not None else 0

    def start(self) -> None:
        self.statements, self.rows, self.on = 0, 0, True
