"""Run one catalogued query on a SQLAlchemy connection and give back typed rows."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from selectq.catalogue import Query, default_catalogue
from selectq.errors import InvalidParameterError, SchemaVersionError

Row = Mapping[str, Any]

MISSING_TABLE = {"42P01", "42703"}
MYSQL_MISSING_TABLE = {1146, 1054}


def in_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# What a driver returns for a declared type differs by engine: MySQL has no boolean, uuid or time zone.
FROM_DATABASE: dict[str, Callable[[Any], Any]] = {
    "text": str,
    "integer": int,
    "boolean": bool,
    "timestamp": in_utc,
    "uuid": lambda value: value if isinstance(value, UUID) else UUID(value),
    "json": lambda value: json.loads(value) if isinstance(value, str) else value,
}


@functools.lru_cache(maxsize=256)
def statement(sql: str) -> sa.TextClause:
    return sa.text(sql)


def query_for(connection: sa.Connection, name: str, version: int | None = None) -> Query:
    """The catalogued query of that name for the connection's engine."""
    return default_catalogue().get(name, connection.dialect.name, version)


def run(connection: sa.Connection, query: Query, **parameters: Any) -> list[dict[str, Any]]:
    """Run a query that returns rows.

    Args:
        parameters: exactly the parameters that the query's header declares; ``json`` ones as Python objects.

    Returns:
        One dict per row, keyed and typed as the header declares its columns.

    Raises:
        InvalidParameterError: a parameter is missing or not declared.
        SchemaVersionError: a table or column is missing.
    """
    result = execute(connection, query, parameters)
    converters = [(field.name, FROM_DATABASE[field.type]) for field in query.columns]
    return [
        {
            name: None if value is None else convert(value)
            for (name, convert), value in zip(converters, row, strict=True)
        }
        for row in result
    ]


def run_count(connection: sa.Connection, query: Query, **parameters: Any) -> int:
    """Run a query whose result is a count of affected rows. Raises as ``run`` does."""
    return execute(connection, query, parameters).rowcount


def execute(
    connection: sa.Connection, query: Query, parameters: Mapping[str, Any], prefix: str = ""
) -> sa.CursorResult[Any]:
    """Run a query of any kind. ``prefix`` goes in front of it, such as EXPLAIN. Raises as ``run`` does."""
    if difference := query.parameter_names ^ parameters.keys():
        raise InvalidParameterError(", ".join(sorted(difference)), f"not as {query.id} declares its parameters")
    kinds = {field.name: field.type for field in query.parameters}
    bound = {name: to_database(kinds[name], value) for name, value in parameters.items()}
    try:
        return connection.execute(statement(f"{prefix} {query.sql}" if prefix else query.sql), bound)
    except (sa.exc.ProgrammingError, sa.exc.OperationalError) as error:
        if is_missing_table(error):
            raise SchemaVersionError(
                f"{query.id}: a table or column is missing ({error.orig}); run 'selectq migrate --db URL' first"
            ) from error
        raise


def to_database(kind: str, value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if kind == "json" and value is not None else value


def is_missing_table(error: sa.exc.DBAPIError) -> bool:
    orig = error.orig
    return getattr(orig, "sqlstate", None) in MISSING_TABLE or (
        bool(orig and orig.args) and orig.args[0] in MYSQL_MISSING_TABLE  # type: ignore[union-attr]
    )
