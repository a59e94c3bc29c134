"""Databases of one worker's own on one server: lent to a test, emptied, lent again."""

from __future__ import annotations

from contextlib import suppress

import sqlalchemy as sa

from selectq import migrate
from selectq.database import create_engine
from selectq.schema import build_metadata
from tests.servers.state import busy_connections, snapshot

DELETE_UP_TO = 1000
"""Rows of a table up to which MySQL deletes faster than it truncates."""


def empty_tables(connection: sa.Connection) -> None:
    """Delete all rows of selectq's tables and commit; tables that do not exist are a database error."""
    tables = [table.name for table in build_metadata(connection.dialect.name).sorted_tables]
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text(f"TRUNCATE {', '.join(tables)}"))
    else:
        connection.execute(sa.text("SET FOREIGN_KEY_CHECKS = 0"))
        for table in tables:
            rows = f"SELECT 1 FROM {table} LIMIT {DELETE_UP_TO + 1}"
            count = connection.scalar(sa.text(f"SELECT COUNT(*) FROM ({rows}) AS r")) or 0
            if count > DELETE_UP_TO:
                connection.execute(sa.text(f"TRUNCATE TABLE {table}"))
            elif count:
                connection.execute(sa.text(f"DELETE FROM {table}"))
        connection.execute(sa.text("SET FOREIGN_KEY_CHECKS = 1"))
    connection.commit()


class Databases:
    """Makes, lends and drops databases named ``<prefix>_<number>``.

    A returned database is lent again only if its schema is as it was; whatever a test did to it, the next one sees
    no trace.
    """

    def __init__(self, url: str, prefix: str) -> None:
        self._prefix = prefix
        self._made = 0
        self._template: str | None = None
        self._free: dict[bool, list[str]] = {True: [], False: []}
        self._pristine: dict[bool, object] = {}
        self._admin = create_engine(url, poolclass=sa.NullPool).execution_options(isolation_level="AUTOCOMMIT")

    def url(self, database: str) -> sa.URL:
        return self._admin.url.set(database=database)

    def lend(self, migrated: bool) -> str:
        """Name of an empty database, with the schema or without tables."""
        if self._free[migrated]:
            return self._free[migrated].pop()
        if self._admin.dialect.name == "postgresql" and migrated:
            self._template = self._template or self._make(migrated)
            database = self._create(f" TEMPLATE {self._template}")
        else:
            database = self._make(migrated)
        if migrated not in self._pristine:
            self._pristine[migrated] = self._snapshot(database)
        return database

    def take_back(self, database: str, migrated: bool) -> None:
        """Empty the database for the next test, or drop it if the test changed its schema or holds a transaction."""
        if self._is_reusable(database, migrated):
            self._free[migrated].append(database)
        else:
            self._drop(database)

    def drop_all(self) -> None:
        for database in [*self._free[True], *self._free[False], self._template]:
            if database:
                self._drop(database)
        self._admin.dispose()

    def _is_reusable(self, database: str, migrated: bool) -> bool:
        engine = create_engine(self.url(database), poolclass=sa.NullPool)
        try:
            with engine.connect() as connection:
                if busy_connections(connection) or snapshot(connection) != self._pristine[migrated]:
                    return False
                if migrated:
                    empty_tables(connection)
        except sa.exc.DBAPIError:
            return False
        return True

    def _snapshot(self, database: str) -> object:
        engine = create_engine(self.url(database), poolclass=sa.NullPool)
        with engine.connect() as connection:
            return snapshot(connection)

    def _make(self, migrated: bool) -> str:
        database = self._create()
        if migrated:
            engine = create_engine(self.url(database), poolclass=sa.NullPool)
            migrate.upgrade(engine)
        return database

    def _create(self, suffix: str = "") -> str:
        self._made += 1
        database = f"{self._prefix}_{self._made}"
        with self._admin.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {database}{suffix}"))
        return database

    def _drop(self, database: str) -> None:
        with self._admin.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.text(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)"))
                return
            # MySQL's DROP waits for open transactions on the database's tables.
            sessions = connection.execute(
                sa.text("SELECT id FROM performance_schema.processlist WHERE db = :db"), {"db": database}
            )
            for session in sessions.scalars().all():
                with suppress(sa.exc.DBAPIError):
                    connection.execute(sa.text(f"KILL {session}"))
            connection.execute(sa.text(f"DROP DATABASE IF EXISTS {database}"))
