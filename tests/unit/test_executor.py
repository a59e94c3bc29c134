"""What the executor refuses before it asks a server, and what it makes of what drivers return."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from selectq.catalogue import TYPES, default_catalogue
from selectq.errors import InvalidParameterError
from selectq.executor import FROM_DATABASE, run, run_count, to_database

NOBODY = sa.create_mock_engine("postgresql://", lambda *_: pytest.fail("a statement was sent"))
CLAIM = default_catalogue().get("selection/claim", "postgresql")


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({}, "claims, queued_by"),
        ({"claims": []}, "queued_by"),
        ({"claims": [], "queued_by": "me", "max_tis": 1}, "max_tis"),
        ({"claims": [], "queuedby": "me"}, "queued_by, queuedby"),
    ],
)
@pytest.mark.parametrize("function", [run, run_count])
def test_parameters_must_be_those_declared(function: Any, parameters: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        function(NOBODY, CLAIM, **parameters)
    assert str(refused.value) == f"{field}: not as selection/claim.v1 declares its parameters"


TIME = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "found", "value"),
    [
        ("text", "é", "é"),
        ("integer", 5, 5),
        ("integer", Decimal(5), 5),
        ("boolean", True, True),
        ("boolean", 0, False),
        ("timestamp", TIME, TIME),
        ("timestamp", TIME.replace(tzinfo=None), TIME),
        ("timestamp", TIME.astimezone(timezone(timedelta(hours=5))), TIME),
        ("uuid", UUID(int=7), UUID(int=7)),
        ("uuid", "0" * 31 + "7", UUID(int=7)),
        ("json", ["a"], ["a"]),
        ("json", '["a"]', ["a"]),
    ],
)
def test_values_from_drivers(kind: str, found: Any, value: Any) -> None:
    converted = FROM_DATABASE[kind](found)
    assert converted == value
    assert type(converted) is type(value)
    if kind == "timestamp":
        assert converted.tzinfo is UTC


def test_every_declarable_type_is_converted() -> None:
    assert set(FROM_DATABASE) == set(TYPES)


def test_json_is_sent_as_text() -> None:
    assert to_database("json", {"é": None}) == '{"é": null}'
    assert to_database("json", None) is None
    assert to_database("text", "[]") == "[]"
