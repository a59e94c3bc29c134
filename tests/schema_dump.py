"""Everything a server knows about the tables of a database, as text that two databases can be compared by."""

from __future__ import annotations

import sqlalchemy as sa

from selectq.revisions import VERSION_TABLE

POSTGRESQL = {
    "relation": "SELECT relname, relkind FROM pg_class WHERE relnamespace = current_schema()::regnamespace",
    "column": """
        SELECT c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated,
               (SELECT collname FROM pg_collation WHERE oid = a.attcollation), pg_get_expr(d.adbin, d.adrelid),
               col_description(c.oid, a.attnum)
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
             LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0
    """,
    "index": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()",
    "constraint": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = current_schema()::regnamespace
    """,
}


def dump(engine: sa.Engine, without_version: bool = False) -> list[str]:
    """One line or statement per object, sorted; table options and definitions as the server prints them."""
    with engine.connect() as connection:
        found = dump_postgresql(connection) if engine.dialect.name == "postgresql" else dump_mysql(connection)
    return sorted(line for line in found if not (without_version and VERSION_TABLE in line))


def dump_postgresql(connection: sa.Connection) -> list[str]:
    return [f"{kind} {tuple(row)}" for kind, query in POSTGRESQL.items() for row in connection.execute(sa.text(query))]


def dump_mysql(connection: sa.Connection) -> list[str]:
    names = connection.scalars(
        sa.text("SELECT table_name FROM information_schema.tables WHERE table_schema = database()")
    ).all()
    return [with_sorted_keys(connection.execute(sa.text(f"SHOW CREATE TABLE `{name}`")).one()[1]) for name in names]


def with_sorted_keys(statement: str) -> str:
    """MySQL lists indexes in the order in which they were made, and SQLAlchemy makes those of a table in no order."""
    lines = statement.splitlines()
    keys = sorted(line for line in lines if line.startswith("  KEY"))
    return "\n".join(keys.pop(0) if line.startswith("  KEY") else line for line in lines)
