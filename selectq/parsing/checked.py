"""Checks of what goes into the parse queue: each error names the parameter and the fix."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from selectq.errors import InvalidParameterError
from selectq.parsing.rows import LANE_OF, Arrival, FoundFile
from selectq.schema_parsing import BUNDLE_LENGTH, HASH_LENGTH, PATH_LENGTH


def check_name(field: str, value: object, length: int) -> str:
    """Text that both engines can store, of 1 to ``length`` characters."""
    if not isinstance(value, str) or not 1 <= len(value) <= length or not storable(value):
        raise InvalidParameterError(
            field, f"must be text of 1 to {length} characters, UTF-8 without NUL, not {value!r:.80}"
        )
    return value


def storable(text: str) -> bool:
    """Neither NUL nor half a character, which names of files may hold."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def check_bundle(value: object) -> str:
    return check_name("bundle", value, BUNDLE_LENGTH)


def check_path(value: object) -> str:
    return check_name("path", value, PATH_LENGTH)


def check_arrival(arrival: Arrival) -> None:
    check_bundle(arrival.bundle)
    check_path(arrival.path)
    if arrival.kind not in LANE_OF:
        raise InvalidParameterError("kind", f"expected one of: {', '.join(LANE_OF)}, not {arrival.kind!r:.80}")
    if arrival.kind == "requested" and arrival.payload is not None:
        raise InvalidParameterError("payload", "is for callbacks; a request has none")


def payload_text(payload: Any) -> str:
    """The payload as JSON text, which is kept to the letter."""
    try:
        text = json.dumps(payload, ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidParameterError("payload", f"can't be written as JSON: {error}") from None
    return text


def check_found(file: FoundFile) -> None:
    check_path(file.path)
    check_moment("mtime", file.mtime)
    if file.digest is not None and (len(file.digest) != HASH_LENGTH or not file.digest.isalnum()):
        raise InvalidParameterError("digest", f"must be a SHA-256 in {HASH_LENGTH} hexadecimal digits, or None")


def check_moment(field: str, value: object) -> datetime:
    """A time with its offset, as UTC."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidParameterError(field, f"must be a datetime with a time zone, not {value!r:.80}")
    return value.astimezone(UTC)


def moment(connection: sa.Connection, field: str, value: datetime | None) -> datetime | None:
    """A time as the driver wants it: MySQL keeps UTC without an offset."""
    if value is None:
        return None
    in_utc = check_moment(field, value)
    return in_utc.replace(tzinfo=None) if connection.dialect.name == "mysql" else in_utc


def moment_text(connection: sa.Connection, value: datetime) -> str:
    """The same, inside of JSON."""
    in_utc = value.astimezone(UTC)
    if connection.dialect.name == "mysql":
        in_utc = in_utc.replace(tzinfo=None)
    return in_utc.isoformat(" ", "microseconds")


def check_dag_ids(value: Sequence[str] | None) -> list[str] | None:
    if value is None:
        return None
    if isinstance(value, str) or not all(isinstance(dag_id, str) and storable(dag_id) for dag_id in value):
        raise InvalidParameterError("dag_ids", f"must be a list of dag ids, not {value!r:.80}")
    return list(value)


def error_text(error: str | None) -> str | None:
    """An error as far as a database can store it: a message must not keep a file from being finished."""
    if error is None:
        return None
    return error.replace("\0", "").encode(errors="replace").decode()[:LONGEST_ERROR]


LONGEST_ERROR = 100_000
"""Characters of an error that are kept."""
