"""Where the tables of a database stand: none, current, older, newer, or not selectq's at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from selectq.errors import InvalidParameterError, SchemaVersionError
from selectq.revisions import VERSION_TABLE, position, revisions
from selectq.schema import metadata

TABLES = frozenset(metadata.tables)

State = Literal["empty", "current", "behind", "newer", "foreign", "unfinished"]


@dataclass(frozen=True)
class Status:
    """Where a database stands.

    Attributes:
        current: revision recorded in the database, None if there is none.
        head: newest revision this selectq knows.
        pending: revisions still to apply, oldest first; only when ``empty`` or ``behind``.
        state: ``empty`` (no tables), ``current``, ``behind``, ``newer`` (a revision this selectq does not know),
            ``foreign`` (tables of these names that selectq did not make), ``unfinished`` (the tables do not go with the
            recorded revision: a migration stopped halfway on MySQL, or somebody dropped tables).
        tables: the tables and views of selectq's names found there, sorted.
    """

    current: str | None
    head: str
    pending: tuple[str, ...]
    state: State
    tables: tuple[str, ...]


def read_status(connection: sa.Connection) -> Status:
    """Look, change nothing: one or two short statements in the caller's transaction.

    Raises:
        InvalidParameterError: the connection is to a MySQL server but to no database on it.
    """
    known = revisions()
    names = relations(connection)
    recorded = recorded_revisions(connection) if VERSION_TABLE in names else ()
    tables = tuple(sorted(names & TABLES))
    state = judge(VERSION_TABLE in names, recorded, tables)
    current = recorded[0] if recorded else None
    pending = known[position(current) :] if state in ("empty", "behind") else ()
    return Status(current, known[-1], pending, state, tables)


def check_schema(connection: sa.Connection) -> None:
    """Refuse to work on anything but the tables this selectq was made for.

    Raises:
        SchemaVersionError: no tables, older, newer, foreign or unfinished; the message says what to do.
        InvalidParameterError: as for ``read_status``.
    """
    found = read_status(connection)
    if found.state != "current":
        raise SchemaVersionError(explain(found))


def explain(found: Status) -> str:
    """What is wrong with a database that is not current, and what to do about it, in one or two sentences."""
    tables = ", ".join(found.tables)
    return {
        "empty": "there are no selectq tables in this database; run: selectq migrate --db URL",
        "current": f"the tables are at {found.current}, the newest revision",
        "behind": f"the tables are at {found.current}, this selectq needs {found.head}; run: selectq migrate --db URL",
        "newer": (
            f"the tables are at {found.current}, which this selectq (up to {found.head}) does not know: a newer "
            "selectq migrated this database; upgrade the package"
        ),
        "foreign": (
            f"tables of these names are here already, but selectq did not make them: {tables}. Is this another "
            "scheduler's database, Airflow's for example? Use an empty database or schema; nothing was changed"
        ),
        "unfinished": (
            f"the tables found ({tables or 'none'}) do not go with the recorded revision ({found.current or 'none'}): "
            "a migration stopped halfway, or tables were dropped. Restore a backup; or, if no row in them is needed, "
            f"drop them and {VERSION_TABLE}, then run: selectq migrate --db URL"
        ),
    }[found.state]


def judge(versioned: bool, recorded: tuple[str, ...], tables: tuple[str, ...]) -> State:
    known = revisions()
    if any(revision not in known for revision in recorded):
        return "newer"
    if not recorded:
        if not tables:
            return "empty"
        return "unfinished" if versioned else "foreign"
    if recorded != known[-1:]:
        return "behind"
    return "current" if set(tables) >= TABLES else "unfinished"


def relations(connection: sa.Connection) -> set[str]:
    """Tables and views, among the names that matter here, that an unqualified name finds."""
    listed = sa.table("tables", sa.column("table_name"), sa.column("table_schema"), schema="information_schema")
    if connection.dialect.name == "mysql":
        database = connection.scalar(sa.select(sa.func.database()))
        if database is None:
            raise InvalidParameterError("db", "the URL names no database; expected mysql://user:password@host/name")
        visible = listed.c.table_schema == database
    else:
        visible = listed.c.table_schema == sa.func.any(sa.func.current_schemas(sa.false()))
    query = sa.select(listed.c.table_name).where(listed.c.table_name.in_(sorted({*TABLES, VERSION_TABLE})), visible)
    return set(connection.scalars(query))


def recorded_revisions(connection: sa.Connection) -> tuple[str, ...]:
    return tuple(connection.scalars(sa.select(sa.table(VERSION_TABLE, sa.column("version_num")).c.version_num)))
