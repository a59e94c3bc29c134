"""Whether a server does what claims rely on: shown by two sessions, not read off its version."""

from __future__ import annotations

from contextlib import suppress

import sqlalchemy as sa

from selectq.database import READ_COMMITTED, connect
from selectq.errors import UnsupportedDatabaseError
from selectq.faults import Fault, fault_of
from selectq.revisions import VERSION_TABLE

LOCK_SECONDS = 2
STRICT_MODES = {"STRICT_TRANS_TABLES", "STRICT_ALL_TABLES", "TRADITIONAL"}

row_to_lock = sa.select(sa.table(VERSION_TABLE, sa.column("version_num")).c.version_num)


def check_skip_locked(one: sa.Connection, engine: sa.Engine) -> None:
    """Lock a row in ``one`` and see another session pass over it; nothing is changed, both transactions end.

    Raises:
        UnsupportedDatabaseError: the other session got the row, waited for it, or the pool has none left for it.
        DatabaseUnreachableError: the other session could not be opened.
    """
    refused = "this server does not skip locked rows (SELECT ... FOR UPDATE SKIP LOCKED)"
    try:
        if not one.execute(row_to_lock.with_for_update(skip_locked=True)).all():
            # Somebody else is at the same probe now, and this session has just passed over their row.
            return
        with connect(engine) as two:
            two.detach()
            limit_waiting(two)
            if two.execute(row_to_lock.with_for_update(skip_locked=True)).all():
                # A session that was killed meanwhile holds no lock: then this fails, and proves nothing.
                one.execute(sa.select(1))
                raise UnsupportedDatabaseError(f"{refused}: two sessions had a lock on the same row")
    except sa.exc.TimeoutError as error:
        raise UnsupportedDatabaseError(
            "engine: its pool must allow two connections, so that a second session can show how locks behave"
        ) from error
    except sa.exc.DBAPIError as error:
        if fault_of(error) in (Fault.LOST, Fault.READ_ONLY, Fault.CANCELLED):
            raise
        raise UnsupportedDatabaseError(f"{refused}, or not to this user: {error.orig}") from error
    finally:
        with suppress(sa.exc.DBAPIError):
            one.rollback()


def limit_waiting(connection: sa.Connection) -> None:
    """Wait for no lock longer than that, in a session that ends with the probe."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.set_config("lock_timeout", f"{LOCK_SECONDS}s", True)))
    else:
        connection.exec_driver_sql(f"SET SESSION innodb_lock_wait_timeout = {LOCK_SECONDS}")


def check_session(connection: sa.Connection) -> None:
    """See that the session has the isolation that was asked for, and a mode in which queries mean what they say.

    Raises:
        UnsupportedDatabaseError: it has another isolation level, or MySQL would cut values that do not fit.
    """
    level = connection.get_isolation_level()
    if level != READ_COMMITTED:
        raise UnsupportedDatabaseError(f"the server gives isolation level {level} where {READ_COMMITTED} was asked for")
    if connection.dialect.name == "mysql":
        modes = str(connection.scalar(sa.select(sa.literal_column("@@SESSION.sql_mode"))))
        if not STRICT_MODES & set(modes.split(",")):
            raise UnsupportedDatabaseError(
                f"sql_mode: {modes!r} has no strict mode, so values that do not fit would be cut; "
                "add STRICT_TRANS_TABLES, MySQL's default"
            )
