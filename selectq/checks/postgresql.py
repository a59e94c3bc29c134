"""PostgreSQL prepares a statement and describes it, without running it."""

from __future__ import annotations

from typing import cast

import psycopg
import sqlalchemy as sa
from psycopg import postgres
from psycopg.pq import ExecStatus

from selectq.catalogue import Query, replace_parameters
from selectq.checks.prepared import Prepared, RefusedError


def prepare(connection: sa.Connection, query: Query) -> Prepared:
    """Parameters and columns with the types that the server infers.

    Raises:
        RefusedError: the server can't prepare it.
    """
    numbers: dict[str, int] = {}
    sql = replace_parameters(query.sql, lambda name: f"${numbers.setdefault(name, len(numbers) + 1)}")
    libpq = cast("psycopg.Connection[object]", connection.connection.driver_connection).pgconn
    done = libpq.prepare(b"", sql.encode())
    if done.status != ExecStatus.COMMAND_OK:
        raise RefusedError(done.get_error_message().splitlines()[0])
    described = libpq.describe_prepared(b"")
    return Prepared(
        parameters={name: type_name(described.param_type(number - 1)) for name, number in numbers.items()},
        columns=tuple(
            ((described.fname(at) or b"").decode(), type_name(described.ftype(at))) for at in range(described.nfields)
        ),
    )


def type_name(oid: int) -> str:
    known = postgres.types.get(oid)
    return known.name if known else f"type {oid}"
