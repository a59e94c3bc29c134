"""Values as literals of each engine, to put a query's parameters into its text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from selectq.catalogue import Query, replace_parameters
from selectq.errors import InvalidParameterError

INT64 = 2**63


def render(query: Query, values: Mapping[str, Any]) -> str:
    """The statement with every parameter replaced by a literal, without a semicolon.

    Args:
        values: parameter -> value of the type that the header declares (``json``: any JSON value); None = NULL.
            Parameters that the query does not have are not looked at.

    Raises:
        InvalidParameterError: a value is missing, or not of the declared type.
    """
    kinds = {field.name: field.type for field in query.parameters}

    def text_of(name: str) -> str:
        if name not in values:
            raise InvalidParameterError(name, "missing")
        return literal(name, kinds[name], values[name], query.dialect)

    return replace_parameters(query.sql, text_of).rstrip()


def literal(name: str, kind: str, value: Any, dialect: str) -> str:
    """One value in an engine's syntax.

    For servers in their default modes: PostgreSQL with standard_conforming_strings, MySQL without
    NO_BACKSLASH_ESCAPES.
    """
    if value is None:
        return "NULL"
    expected, write = WRITERS[kind]
    if not isinstance(value, expected) or (isinstance(value, bool) and kind == "integer"):
        raise InvalidParameterError(name, f"expected {kind}, not {value!r}")
    return write(name, value, dialect)


def quoted(name: str, value: str, dialect: str) -> str:
    if dialect == "mysql":
        return "'" + value.replace("\\", "\\\\").replace("'", "''").replace("\0", "\\0").replace("\x1a", "\\Z") + "'"
    if "\0" in value:
        raise InvalidParameterError(name, "PostgreSQL's text can't hold NUL")
    return "'" + value.replace("'", "''") + "'"


def integer(name: str, value: int, dialect: str) -> str:
    if not -INT64 <= value < INT64:
        raise InvalidParameterError(name, f"{value} is beyond 64 bits")
    # In brackets, for a minus next to another one would open a comment.
    return str(value) if value >= 0 else f"({value})"


def boolean(name: str, value: bool, dialect: str) -> str:
    return "TRUE" if value else "FALSE"


def timestamp(name: str, value: datetime, dialect: str) -> str:
    """A time without an offset is taken to be in UTC, as MySQL stores it."""
    in_utc = (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
    text = in_utc.replace(tzinfo=None).isoformat(" ", "microseconds")
    return f"TIMESTAMP '{text}'" if dialect == "mysql" else f"TIMESTAMPTZ '{text}+00'"


def uuid(name: str, value: UUID, dialect: str) -> str:
    """MySQL holds it as 32 hexadecimal digits."""
    return f"'{value.hex}'" if dialect == "mysql" else f"UUID '{value}'"


def as_json(name: str, value: Any, dialect: str) -> str:
    return quoted(name, json.dumps(value, ensure_ascii=False), dialect)


WRITERS: dict[str, tuple[type | tuple[type, ...], Callable[[str, Any, str], str]]] = {
    "text": (str, quoted),
    "integer": (int, integer),
    "boolean": (bool, boolean),
    "timestamp": (datetime, timestamp),
    "uuid": (UUID, uuid),
    "json": (object, as_json),
}
