"""Fresh statistics for the planner after a load."""

from __future__ import annotations

import sqlalchemy as sa

TABLES = ("slot_pool", "dag", "task", "dag_run", "task_instance")


def refresh_statistics(engine: sa.Engine) -> None:
    """What a server does by itself after a while."""
    command = "ANALYZE TABLE" if engine.dialect.name == "mysql" else "VACUUM ANALYZE"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text(f"{command} {', '.join(TABLES)}"))
