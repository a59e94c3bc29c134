"""A connection that is fit for use: of a server and schema that were found right, in READ COMMITTED."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import sqlalchemy as sa

from selectq.database import READ_COMMITTED, check_server, connect, isolation_of, misplans
from selectq.probe import check_session, check_skip_locked
from selectq.schema_status import check_schema
from selectq.transactions import reraise

CHECKED: WeakKeyDictionary[sa.Engine, bool] = WeakKeyDictionary()
"""Engines whose server and schema were found right, once for all: does the planner need its settings set?"""


def open_fit(engine: sa.Engine) -> sa.Connection:
    """Connect in READ COMMITTED; the first time of an engine, its server, session and schema are checked.

    Raises:
        UnsupportedDatabaseError, SchemaVersionError: as the checks say.
        DatabaseUnreachableError: there is no connection, or it was lost.
    """
    connection = connect(engine)
    try:
        return fit(connection)
    except sa.exc.DBAPIError as error:
        connection.close()
        reraise(error, 1)
    except BaseException:
        connection.close()
        raise


def fit(connection: sa.Connection) -> sa.Connection:
    engine = connection.engine
    if engine not in CHECKED:
        check_server(connection)
        check_schema(connection)
        connection.rollback()
        check_skip_locked(connection, engine)
    isolation = isolation_of(connection)
    connection.rollback()
    if isolation != READ_COMMITTED:
        connection = connection.execution_options(isolation_level=READ_COMMITTED)
    if engine not in CHECKED:
        check_session(connection)
        CHECKED[engine] = misplans(connection)
        connection.rollback()
    return connection


def needs_planner(engine: sa.Engine) -> bool:
    """Whether the planner's settings must be set in each transaction; of an engine that was opened before."""
    return CHECKED[engine]
