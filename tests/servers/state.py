"""What a test must leave as it found it: the schema of its database, and no open transaction; and sessions to end."""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa

from selectq.schema import metadata

POSTGRES_SCHEMA = """
SELECT 'column', c.relname, c.relkind::text, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull::text,
       pg_get_expr(d.adbin, d.adrelid)
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'index', tablename, indexname, indexdef, '', '', '' FROM pg_indexes WHERE schemaname = 'public'
UNION ALL
SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', '', ''
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL
SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(oid), '', '', ''
FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT 'function', proname, prosrc, '', '', '', '' FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION ALL
SELECT 'schema', nspname, '', '', '', '', '' FROM pg_namespace WHERE nspname !~ '^pg_'
ORDER BY 1, 2, 3, 4
"""


def snapshot(connection: sa.Connection) -> object:
    """All that defines the schema, and the rows of tables that are not selectq's own, such as the schema version."""
    if connection.dialect.name == "postgresql":
        schema = [tuple(row) for row in connection.execute(sa.text(POSTGRES_SCHEMA))]
        tables = sorted({row[1] for row in schema if row[0] == "column" and row[2] == "r"})
    else:
        shown = connection.execute(sa.text("SHOW FULL TABLES")).all()
        tables = sorted(name for name, kind in shown if kind == "BASE TABLE")
        schema = [tuple(row) for row in shown]
        schema += [tuple(connection.execute(sa.text(f"SHOW CREATE TABLE `{name}`")).one()) for name in tables]
        schema += [tuple(row)[:4] for row in connection.execute(sa.text("SHOW TRIGGERS"))]
    quote = connection.dialect.identifier_preparer.quote_identifier
    others = [name for name in tables if name not in metadata.tables]
    rows = {name: connection.execute(sa.text(f"SELECT * FROM {quote(name)}")).all() for name in others}
    connection.commit()
    return schema, {name: sorted(map(str, found)) for name, found in rows.items()}


def busy_connections(connection: sa.Connection) -> int:
    """How many other connections hold a transaction on this database open."""
    if connection.dialect.name == "postgresql":
        query = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
              AND backend_type = 'client backend'
        """
    else:
        # Not information_schema.innodb_trx: it shows what was there up to 0.1 s ago.
        query = """
            SELECT count(*) FROM performance_schema.events_transactions_current e
            JOIN performance_schema.threads t USING (thread_id)
            WHERE e.state = 'ACTIVE' AND t.processlist_db = DATABASE() AND t.processlist_id <> CONNECTION_ID()
        """
    found = connection.scalar(sa.text(query))
    connection.commit()
    return int(found or 0)


def end_session(connection: sa.Connection) -> None:
    """End the session of a connection, as an administrator would, and wait until its locks are gone."""
    driver: Any = connection.connection.driver_connection
    with connection.engine.connect() as other:
        if connection.dialect.name == "postgresql":
            other.execute(sa.select(sa.func.pg_terminate_backend(driver.info.backend_pid, 10_000)))
            return
        number = driver.thread_id()
        other.exec_driver_sql(f"KILL {number}")
        there = sa.text("SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_id = :number")
        end = time.monotonic() + 10
        while other.scalar(there, {"number": number}) and time.monotonic() < end:
            time.sleep(0.01)
