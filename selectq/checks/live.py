"""Every statement prepared by a real server: the check that no parser can replace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import sqlalchemy as sa

from selectq.catalogue import Query
from selectq.checks import mysql, postgresql
from selectq.checks.finding import Finding
from selectq.checks.offline import readable
from selectq.checks.prepared import Prepared, RefusedError
from selectq.schema_status import check_schema

PREPARE: dict[str, Callable[[sa.Connection, Query], Prepared]] = {
    "postgresql": postgresql.prepare,
    "mysql": mysql.prepare,
}
FITS = {
    "postgresql": {
        "text": {"text", "varchar"},
        "integer": {"int2", "int4", "int8", "numeric"},
        "boolean": {"bool"},
        "timestamp": {"timestamptz"},
        "uuid": {"uuid"},
        "json": {"jsonb", "json"},
    },
    "mysql": {
        "text": {"var_string", "string", "blob"},
        "integer": {"tiny", "short", "int24", "long", "longlong", "newdecimal"},
        "boolean": {"tiny", "long", "longlong"},
        "timestamp": {"datetime", "timestamp"},
        "uuid": {"var_string", "string"},
        "json": {"json"},
    },
}
"""Declared type -> the server's types that it may stand for."""


def check_database(connection: sa.Connection, root: Path) -> list[Finding]:
    """Findings about the files of the connection's engine. Reads no rows, and leaves nothing behind.

    Raises:
        SchemaVersionError: the tables are not those that this selectq needs.
    """
    check_schema(connection)
    findings = []
    for query in readable(root)[0]:
        if query.dialect == connection.dialect.name:
            findings += [Finding(query.file, problem) for problem in check_prepared(connection, query)]
    return sorted(findings)


def check_prepared(connection: sa.Connection, query: Query) -> Iterator[str]:
    """The server accepts the statement, and finds the parameters and columns that the header declares."""
    try:
        prepared = PREPARE[query.dialect](connection, query)
    except RefusedError as error:
        yield f"the server refuses it: {error}"
        return
    finally:
        connection.rollback()
    yield from (f"the server warns: {warning}" for warning in prepared.warnings)
    fits = FITS[query.dialect]
    for field in query.parameters:
        found = prepared.parameters.get(field.name)
        if found and found not in fits[field.type]:
            yield f"parameter {field.name} is declared {field.type}, the server takes {found}"
    names = [name for name, _ in prepared.columns]
    declared = [field.name for field in query.columns]
    if names != declared:
        yield f"columns: {', '.join(declared) or 'none'} are declared, the server returns {', '.join(names) or 'none'}"
        return
    for field, (_, found) in zip(query.columns, prepared.columns, strict=True):
        if found not in fits[field.type]:
            yield f"column {field.name} is declared {field.type}, the server returns {found}"
