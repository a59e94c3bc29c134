"""Literals of each engine, without a server; ``test_sql_render`` has servers read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from selectq.errors import InvalidParameterError
from selectq.literals import literal

EARLY = datetime(1, 2, 3, tzinfo=UTC)
EAST = datetime(2026, 1, 1, 1, 30, 0, 5, tzinfo=timezone(timedelta(hours=2)))
TOKEN = UUID(int=10)


@pytest.mark.parametrize(
    ("kind", "value", "postgresql", "mysql"),
    [
        ("text", "", "''", "''"),
        ("text", "it's", "'it''s'", "'it''s'"),
        ("text", "a\\'b", "'a\\''b'", "'a\\\\''b'"),
        ("text", "\x1a\n\t%s :x", "'\x1a\n\t%s :x'", "'\\Z\n\t%s :x'"),
        ("integer", 0, "0", "0"),
        ("integer", -5, "(-5)", "(-5)"),
        ("integer", 2**63 - 1, "9223372036854775807", "9223372036854775807"),
        ("boolean", True, "TRUE", "TRUE"),
        ("boolean", False, "FALSE", "FALSE"),
        ("timestamp", EAST, "TIMESTAMPTZ '2025-12-31 23:30:00.000005+00'", "TIMESTAMP '2025-12-31 23:30:00.000005'"),
        ("timestamp", EARLY, "TIMESTAMPTZ '0001-02-03 00:00:00.000000+00'", "TIMESTAMP '0001-02-03 00:00:00.000000'"),
        ("uuid", TOKEN, "UUID '00000000-0000-0000-0000-00000000000a'", "'0000000000000000000000000000000a'"),
        ("json", {"a": ["é", "\\", "'", 1, None, True]}, """'{"a": ["é", "\\\\", "''", 1, null, true]}'""", None),
        ("json", ["\\"], """'["\\\\"]'""", """'["\\\\\\\\"]'"""),
        *((kind, None, "NULL", "NULL") for kind in ("text", "integer", "boolean", "timestamp", "uuid", "json")),
    ],
)
def test_literals(kind: str, value: Any, postgresql: str, mysql: str | None) -> None:
    assert literal("x", kind, value, "postgresql") == postgresql
    if mysql is not None:
        assert literal("x", kind, value, "mysql") == mysql


def test_a_time_without_an_offset_is_in_utc() -> None:
    assert literal("x", "timestamp", datetime(2026, 1, 1), "mysql") == "TIMESTAMP '2026-01-01 00:00:00.000000'"  # noqa: DTZ001


def test_nul() -> None:
    assert literal("x", "text", "a\0b", "mysql") == "'a\\0b'"
    with pytest.raises(InvalidParameterError, match="x: PostgreSQL's text can't hold NUL"):
        literal("x", "text", "a\0b", "postgresql")


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("text", 1, "x: expected text, not 1"),
        ("integer", "1", "x: expected integer, not '1'"),
        ("integer", True, "x: expected integer, not True"),
        ("integer", 2**63, "x: 9223372036854775808 is beyond 64 bits"),
        ("boolean", 1, "x: expected boolean, not 1"),
        ("timestamp", "2026-01-01", "x: expected timestamp, not '2026-01-01'"),
        ("uuid", "0" * 32, "x: expected uuid, not '0"),
    ],
)
def test_values_of_another_type(kind: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        literal("x", kind, value, "mysql")
    assert str(refused.value).startswith(message)
