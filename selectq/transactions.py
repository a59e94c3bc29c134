"""A connection that is fit for use, and work on it that is retried within a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from weakref import WeakKeyDictionary

import sqlalchemy as sa
import stamina

from selectq.database import READ_COMMITTED, check_server, isolation_of, misplans
from selectq.errors import DatabaseUnreachableError, RetriesExhaustedError
from selectq.schema_status import check_schema

T = TypeVar("T")

CHECKED: WeakKeyDictionary[sa.Engine, bool] = WeakKeyDictionary()
"""Engines whose server and schema were found right, once for all: does the planner need its settings set?"""

RETRIED_SQLSTATES = {"40001", "40P01"}
RETRIED_MYSQL_ERRORS = {1205, 1213}


def is_conflict(error: Exception) -> bool:
    """Deadlock, serialisation failure or (MySQL) lock wait timeout: the transaction is gone, and may be run again."""
    if not isinstance(error, sa.exc.DBAPIError) or error.orig is None:
        return False
    code = error.orig.args[0] if error.orig.args else None
    return getattr(error.orig, "sqlstate", None) in RETRIED_SQLSTATES or code in RETRIED_MYSQL_ERRORS


@contextmanager
def named_errors(attempts: int, if_lost: str = "") -> Iterator[None]:
    """Raise what the driver reports as the package's own errors, as ``in_transaction`` says."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        if error.connection_invalidated:
            raise DatabaseUnreachableError(
                f"the connection was lost: {error.orig}. What was not committed is undone{if_lost}"
            ) from error
        if is_conflict(error):
            raise RetriesExhaustedError(
                f"gave up after {attempts} attempts, nothing was committed: {error.orig}"
            ) from error
        raise


def fit(connection: sa.Connection) -> sa.Connection:
    """The connection in READ COMMITTED; the first time of an engine, its server and schema are checked.

    Raises:
        UnsupportedDatabaseError, SchemaVersionError: as the checks say.
        DatabaseUnreachableError: the connection was lost.
    """
    engine = connection.engine
    with named_errors(attempts=1):
        if engine not in CHECKED:
            check_server(connection)
            check_schema(connection)
            CHECKED[engine] = misplans(connection)
        isolation = isolation_of(connection)
        connection.rollback()
        if isolation == READ_COMMITTED:
            return connection
        return connection.execution_options(isolation_level=READ_COMMITTED)


def in_transaction(
    connection: sa.Connection, work: Callable[[sa.Connection], T], attempts: int, if_lost: str = ""
) -> T:
    """Run the work in a transaction of its own and commit; again if it met a conflict.

    Args:
        connection: as ``fit`` returned it.
        attempts: how often it is run at most.
        if_lost: what else to say if the connection was lost.

    Raises:
        DatabaseUnreachableError: the connection was lost.
        RetriesExhaustedError: every attempt met a conflict; nothing was committed.
    """
    with named_errors(attempts, if_lost):
        for attempt in stamina.retry_context(is_conflict, attempts=attempts, wait_initial=0.02, wait_max=0.5):
            with attempt, connection.begin():
                return work(connection)
    raise AssertionError("unreachable: the loop returns or raises")
