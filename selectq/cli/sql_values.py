"""Values of parameters as typed on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from selectq.catalogue import Field, Query
from selectq.defaults import with_defaults
from selectq.errors import InvalidParameterError


def values_for(query: Query, given: Sequence[str]) -> dict[str, Any]:
    """A value for every parameter of the query: as given, or its default.

    Raises:
        InvalidParameterError: as ``given_values``, or one is missing and has no default.
    """
    return with_defaults(query, given_values(query, given))


def given_values(query: Query, given: Sequence[str]) -> dict[str, Any]:
    """The values that were given.

    Args:
        given: ``NAME=VALUE``, or ``NAME`` alone for NULL.

    Raises:
        InvalidParameterError: one is unknown, given twice or not of its type.
    """
    fields = {field.name: field for field in query.parameters}
    values: dict[str, Any] = {}
    for item in given:
        name, equals, text = item.partition("=")
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise InvalidParameterError(name, f"{query.id} has no such parameter; it has: {known}")
        if name in values:
            raise InvalidParameterError(name, "given twice")
        values[name] = parsed(fields[name], text) if equals else None
    return values


def parsed(field: Field, text: str) -> Any:
    try:
        return PARSERS[field.type](text)
    except ValueError as error:
        raise InvalidParameterError(field.name, f"{text!r} is no {field.type}: {error}") from None


def boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return text.lower() == "true"


PARSERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "integer": int,
    "boolean": boolean,
    "timestamp": datetime.fromisoformat,
    "uuid": UUID,
    "json": json.loads,
}
