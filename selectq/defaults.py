"""Values of parameters that go without saying, for commands that run a query by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from selectq.catalogue import Field, Query
from selectq.errors import InvalidParameterError

DEFAULTS: dict[str, Any] = {
    "max_tis": 512,
    "executor_slots": {},
    "admitted": [],
    "groups": [],
    "page": 512,
    "room": 2,
    "depth": 8,
    "per_slot": 2,
    "reach": 640,
    "hops": 250,
    "page_size": 100,
    "after_priority_weight": 2**31,
    "after_undated": 0,
    "after_logical_date": None,
    "after_dag_id": "",
    "after_run_id": "",
    "after_task_id": "",
    "after_map_index": -2,
    "now": None,
    "waiting": True,
    "slots": 1,
    "share": 1_000_000,
    "priority_slots": 1,
    "min_interval_ms": 30_000,
    "max_interval_ms": 120_000,
    "timeout_ms": 300_000,
}
FILTER = re.compile(r"\bNULL = (any|all)\b")
"""What the description of a parameter says if it may be left out."""


def with_defaults(query: Query, values: Mapping[str, Any]) -> dict[str, Any]:
    """A value for every parameter of the query: those given, else the default.

    Raises:
        InvalidParameterError: one is missing and has no default.
    """
    missing = [field for field in query.parameters if field.name not in values and not has_default(field)]
    if missing:
        wanted = "; ".join(f"{field.name} ({described(field)})" for field in missing)
        raise InvalidParameterError("param", f"{query.id} needs --param NAME=VALUE for: {wanted}")
    names = [field.name for field in query.parameters]
    return {name: values[name] if name in values else DEFAULTS.get(name) for name in names}


def has_default(field: Field) -> bool:
    return field.name in DEFAULTS or FILTER.search(field.description) is not None


def described(field: Field) -> str:
    return f"{field.type}: {field.description}" if field.description else field.type
