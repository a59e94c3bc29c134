"""Transactions on one connection: repeated within a bound where that is safe, else an error that says more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NoReturn, TypeVar

import sqlalchemy as sa
import stamina

from selectq.errors import (
    CommitUnknownError,
    DatabaseReadOnlyError,
    DatabaseUnreachableError,
    RetriesExhaustedError,
    SelectqError,
    StatementCancelledError,
)
from selectq.faults import Fault, fault_of

T = TypeVar("T")
Work = Callable[[sa.Connection], T]
Settle = Callable[[sa.Connection, T], T | None]

WAIT_INITIAL, WAIT_MAX = 0.02, 0.5
"""Seconds between two attempts: about the first, twice as long each time, never longer than the last."""
ALL_OR_NOTHING = "either all was committed of which 'result' tells, or nothing was"
REPEATED = {Fault.CONFLICT, Fault.LOST, Fault.READ_ONLY}


def is_repeated(error: Exception) -> bool:
    if isinstance(error, DatabaseUnreachableError):
        return not isinstance(error, CommitUnknownError)
    return fault_of(error) in REPEATED


def repeated(attempts: int) -> Iterable[stamina.Attempt]:
    """At most so many attempts, further ones after errors that allow it."""
    return stamina.retry_context(is_repeated, attempts=attempts, wait_initial=WAIT_INITIAL, wait_max=WAIT_MAX)


class Transactions:
    """Runs work in transactions of its own.

    Args:
        open_connection: makes a connection that is ready to use; called again after one was lost.
        attempts: how often a piece of work is run at most.
    """

    def __init__(self, open_connection: Callable[[], sa.Connection], attempts: int) -> None:
        self._open = open_connection
        self._attempts = attempts
        self._connection: sa.Connection | None = open_connection()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def read(self, work: Work[T]) -> T:
        """Run work that changes nothing, as ``run`` does; a commit that was cut off does not matter to it."""
        return self.run(work, lambda _, result: result)

    def run_twice(self, work: Work[T]) -> list[T]:
        """Run work that may be done twice, as ``run`` does, again if it is not known whether the commit arrived.

        Returns:
            What each attempt returned whose commit may have arrived; that of the last one has.

        Raises:
            CommitUnknownError: the commit may have arrived, and the work could not be done again; ``result`` is what
                the first such attempt returned.
        """
        unsure: list[T] = []

        def note(_: sa.Connection, result: T) -> None:
            unsure.append(result)

        try:
            done = self.run(work, note)
        except (SelectqError, sa.exc.DBAPIError) as error:
            if not unsure:
                raise
            raise CommitUnknownError(
                f"the connection was lost during the commit: {ALL_OR_NOTHING}; and it could not be done again: {error}",
                unsure[0],
            ) from error
        return [*unsure, done]

    def run(self, work: Work[T], settle: Settle[T] | None = None) -> T:
        """Run the work and commit, as often as it takes within the bound.

        Args:
            settle: asked if the connection was lost during the commit: told what the work returned, it says what of
                that is in the database; None if nothing is.

        Raises:
            RetriesExhaustedError, DatabaseUnreachableError, DatabaseReadOnlyError, StatementCancelledError: nothing was
                committed.
            CommitUnknownError: the connection was lost during the commit, and there is no ``settle`` or it can't ask.
        """
        try:
            for attempt in repeated(self._attempts):
                with attempt:
                    return self._once(work, settle)
        except sa.exc.DBAPIError as error:
            reraise(error, self._attempts)
        raise AssertionError("unreachable: the loop returns or raises")

    def _once(self, work: Work[T], settle: Settle[T] | None) -> T:
        connection = self._ready()
        transaction = connection.begin()
        try:
            result = work(connection)
        except BaseException as error:
            self._abandon(transaction, fault_of(error))
            raise
        try:
            transaction.commit()
        except sa.exc.DBAPIError as error:
            fault = fault_of(error)
            self._abandon(transaction, fault)
            if fault is Fault.LOST or (fault is not Fault.CONFLICT and connection.dialect.name == "mysql"):
                return self._settled(settle, result, error)
            raise
        return result

    def _ready(self) -> sa.Connection:
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def _abandon(self, transaction: sa.RootTransaction, fault: Fault) -> None:
        """Undo; and let go of a connection that is of no use any more, so that the next one may lead elsewhere."""
        with suppress(sa.exc.DBAPIError):
            transaction.rollback()
        if fault in (Fault.LOST, Fault.READ_ONLY) and self._connection is not None:
            self._connection.invalidate()
            self.close()

    def _settled(self, settle: Settle[T] | None, result: T, error: sa.exc.DBAPIError) -> T:
        """What the commit did, by asking; if nothing, its error: the work may be repeated."""
        unknown = CommitUnknownError(
            f"the connection was lost during the commit ({error.orig}): {ALL_OR_NOTHING}", result
        )
        if settle is None:
            raise unknown from error
        try:
            found = self._asked(settle, result)
        except (sa.exc.DBAPIError, DatabaseUnreachableError):
            raise unknown from error
        if found is None:
            raise error
        return found

    def _asked(self, settle: Settle[T], result: T) -> T | None:
        for attempt in repeated(max(3, self._attempts)):
            with attempt:
                connection = self._ready()
                transaction = connection.begin()
                try:
                    return settle(connection, result)
                except BaseException as error:
                    self._abandon(transaction, fault_of(error))
                    raise
                finally:
                    if transaction.is_active:
                        transaction.rollback()
        raise AssertionError("unreachable: the loop returns or raises")


def reraise(error: sa.exc.DBAPIError, attempts: int) -> NoReturn:
    """Raise the package's own error for one that stopped a transaction before its commit; else the error itself."""
    tried = f"gave up after {attempts} attempt{'' if attempts == 1 else 's'}, nothing was committed"
    match fault_of(error):
        case Fault.CONFLICT:
            raise RetriesExhaustedError(f"{tried}: {error.orig}") from error
        case Fault.LOST:
            raise DatabaseUnreachableError(f"the connection was lost; {tried}: {error.orig}") from error
        case Fault.READ_ONLY:
            raise DatabaseReadOnlyError(
                f"the server takes no writes ({error.orig}); {tried}. After a failover, the URL must lead to the new "
                "primary"
            ) from error
        case Fault.CANCELLED:
            raise StatementCancelledError(
                f"the statement was cancelled ({error.orig}); nothing was committed, and it was not tried again"
            ) from error
        case _:
            raise error
