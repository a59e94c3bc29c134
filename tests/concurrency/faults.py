"""Faults for a stress: what administrators, networks and bad luck do to sessions."""

from __future__ import annotations

import random
import threading
from contextlib import suppress

import sqlalchemy as sa

from selectq import schema
from tests.concurrency import scene

pool, dag_run = (schema.metadata.tables[name] for name in ("slot_pool", "dag_run"))


def sessions(connection: sa.Connection) -> list[int]:
    """Numbers of the other sessions on this database."""
    if connection.dialect.name == "postgresql":
        query = """
            SELECT pid FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
        """
    else:
        query = "SELECT id FROM performance_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
    return list(connection.execute(sa.text(query)).scalars())


def to_one_session(engine: sa.Engine, draw: random.Random, on_postgresql: str, on_mysql: str) -> None:
    command = on_postgresql if engine.dialect.name == "postgresql" else on_mysql
    with suppress(sa.exc.DBAPIError), engine.connect() as connection:
        if found := sessions(connection):
            connection.exec_driver_sql(command.format(draw.choice(found)))


def cancel_statement(engine: sa.Engine, draw: random.Random) -> None:
    to_one_session(engine, draw, "SELECT pg_cancel_backend({})", "KILL QUERY {}")


def cut_connection(engine: sa.Engine, draw: random.Random) -> None:
    to_one_session(engine, draw, "SELECT pg_terminate_backend({})", "KILL {}")


def deadlock(engine: sa.Engine, draw: random.Random) -> None:
    """Lock a run and then all pools: the order of a claim the other way round."""
    with suppress(sa.exc.DBAPIError), engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            # Somebody else shall find the deadlock, and end.
            connection.exec_driver_sql("SET LOCAL deadlock_timeout = '3s'")
        run = dag_run.c.dag_id == draw.choice(scene.DAGS), dag_run.c.run_id == draw.choice(scene.RUNS)
        connection.execute(sa.select(dag_run).where(*run).with_for_update())
        threading.Event().wait(draw.uniform(0, 0.1))
        connection.execute(sa.select(pool).order_by(pool.c.pool.desc()).with_for_update())


ALL = (cancel_statement, cut_connection, deadlock)
