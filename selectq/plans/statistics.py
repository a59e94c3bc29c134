"""Fresh statistics for the planner after a load: what a server does by itself after a while."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa


def refresh_statistics(engine: sa.Engine, tables: Iterable[str]) -> None:
    """Analyse the tables; on PostgreSQL also mark their rows visible to all, unless an open transaction forbids it."""
    names = ", ".join(tables)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if connection.dialect.name == "mysql":
            connection.execute(sa.text(f"ANALYZE TABLE {names}"))
            return
        # VACUUM passes over rows whose commit is not on disk yet, as may be with synchronous_commit off. A commit that
        # waits for the disk takes all before it along.
        connection.execute(sa.text("SET synchronous_commit = on"))
        connection.execute(sa.select(sa.func.pg_logical_emit_message(True, "selectq", "")))
        connection.execute(sa.text(f"VACUUM ANALYZE {names}"))
        connection.execute(sa.text("RESET synchronous_commit"))
