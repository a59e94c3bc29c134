"""What a database error means for the transaction that met it."""

from __future__ import annotations

from enum import Enum

import sqlalchemy as sa


class Fault(Enum):
    """What happened; in each case but OTHER the transaction is undone, unless its commit was under way."""

    CONFLICT = "deadlock, serialisation failure or lock timeout"
    LOST = "the connection was lost"
    READ_ONLY = "the server takes no writes: a standby, or a primary that is being replaced"
    CANCELLED = "somebody cancelled the statement, or it passed a time limit of the server's"
    OTHER = "anything else"


POSTGRESQL = {
    "40001": Fault.CONFLICT,
    "40P01": Fault.CONFLICT,
    "55P03": Fault.CONFLICT,
    "25006": Fault.READ_ONLY,
    "57014": Fault.CANCELLED,
    "57P01": Fault.LOST,
    "57P02": Fault.LOST,
    "57P03": Fault.LOST,
    "57P05": Fault.LOST,
}
MYSQL = {
    1205: Fault.CONFLICT,
    1213: Fault.CONFLICT,
    1290: Fault.READ_ONLY,
    1792: Fault.READ_ONLY,
    1836: Fault.READ_ONLY,
    1317: Fault.CANCELLED,
    3024: Fault.CANCELLED,
    1053: Fault.LOST,
    1927: Fault.LOST,
    3169: Fault.LOST,
}


def fault_of(error: BaseException) -> Fault:
    """The meaning of an error that SQLAlchemy raised; anything that is none is OTHER."""
    if not isinstance(error, sa.exc.DBAPIError):
        return Fault.OTHER
    if error.connection_invalidated:
        return Fault.LOST
    # PyMySQL's errors have a number and an SQLSTATE, and the number says more.
    number = error.orig.args[0] if error.orig is not None and error.orig.args else None
    if isinstance(number, int):
        return MYSQL.get(number, Fault.OTHER)
    state = str(getattr(error.orig, "sqlstate", None) or "")
    return Fault.LOST if state.startswith("08") else POSTGRESQL.get(state, Fault.OTHER)
