"""Values of parameters as typed on the command line, and those that go without saying."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from selectq.catalogue import Field, Query
from selectq.errors import InvalidParameterError

DEFAULTS: dict[str, Any] = {
    "max_tis": 512,
    "executor_slots": {},
    "admitted": [],
    "page": 512,
    "page_size": 100,
    "after_dag_id": "",
    "after_run_id": "",
    "after_task_id": "",
    "after_map_index": -2,
    "waiting": True,
}
FILTER = re.compile(r"\bNULL = (any|all)\b")
"""What the description of a parameter says if it may be left out."""


def values_for(query: Query, given: Sequence[str]) -> dict[str, Any]:
    """A value for every parameter of the query.

    Args:
        given: ``NAME=VALUE``, or ``NAME`` alone for NULL.

    Raises:
        InvalidParameterError: one is unknown, given twice, not of its type, or missing without a default.
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
    missing = [field for name, field in fields.items() if name not in values and not has_default(field)]
    if missing:
        wanted = "; ".join(f"{field.name} ({described(field)})" for field in missing)
        raise InvalidParameterError("param", f"{query.id} needs --param NAME=VALUE for: {wanted}")
    return {name: values[name] if name in values else DEFAULTS.get(name) for name in fields}


def has_default(field: Field) -> bool:
    return field.name in DEFAULTS or FILTER.search(field.description) is not None


def described(field: Field) -> str:
    return f"{field.type}: {field.description}" if field.description else field.type


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
