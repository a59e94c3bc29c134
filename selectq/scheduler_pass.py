"""One turn of a scheduler's loop: select, claim, explain, each in a transaction that is retried within a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, TypeVar
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from selectq import selection
from selectq.database import READ_COMMITTED, check_server, connect, isolation_of, misplans, set_planner
from selectq.errors import CommitUnknownError, InvalidParameterError, SelectqError
from selectq.parameters import check_count, check_executor_slots, check_locked_holders, check_policy, check_text
from selectq.probe import check_session, check_skip_locked
from selectq.rows import Blocked, Claimed, Key, Selected
from selectq.schema_status import check_schema
from selectq.transaction import Transactions, reraise

T = TypeVar("T")

CHECKED: WeakKeyDictionary[sa.Engine, bool] = WeakKeyDictionary()
"""Engines whose server and schema were found right, once for all passes: does the planner need its settings set?"""

CLAIM_ROUNDS = 5
"""Most rounds of select, lock and claim in one call; a further one is needed only if others took what was selected."""
EMPTY_ROUNDS = 25
"""Most of them while nothing was claimed at all: each time, others have claimed."""
REACHES = (1, 4, 16)
"""How many times ``max_tis`` is selected, one after the other, to find something behind locked holders."""


class SchedulerPass:
    """One pass, as a context manager; holds one connection from entry to exit.

    Args:
        engine: best from ``selectq.database.create_engine``; the pass runs in READ COMMITTED whatever its default.
        max_tis: most task instances to admit in the pass, at least 1.
        executor_slots: free slots per executor name; one that is not named is unlimited.
        policy: ``strict``.
        queued_by: name of the scheduler, kept with what it claims.
        attempts: how often a transaction is run at most: again after deadlocks, serialisation failures, lock timeouts,
            lost connections and errors of a failover.
        locked_holders: ``wait`` for pools, runs and tasks that another scheduler is claiming from, a moment each; or
            ``skip`` them, take what lies behind them instead, and wait only if there is nothing else.

    Raises:
        InvalidParameterError: a parameter is wrong; the message names it.
        UnsupportedDatabaseError: on entry.
        SchemaVersionError: on entry, if the tables are missing or of another version.
        DatabaseUnreachableError: on entry, or the connection was lost in every attempt; nothing was committed.
        DatabaseReadOnlyError: the server takes no writes, nor did the one found anew; nothing was committed.
        RetriesExhaustedError: every attempt met a conflict; nothing was committed.
        StatementCancelledError: a statement was cancelled; nothing was committed, nothing repeated.
        CommitUnknownError: the connection was lost during a commit and none could be had to ask; see its ``claimed``.

    Example:
        >>> with SchedulerPass(engine, max_tis=32) as p:  # doctest: +SKIP
        ...     for ti in p.claim():
        ...         start(ti.key, ti.claim_token)
    """

    def __init__(
        self,
        engine: sa.Engine,
        max_tis: int = 512,
        executor_slots: Mapping[str, int] | None = None,
        policy: str = "strict",
        *,
        queued_by: str | None = None,
        attempts: int = 3,
        locked_holders: str = "wait",
    ) -> None:
        if not isinstance(engine, sa.Engine):
            raise InvalidParameterError("engine", f"must be a SQLAlchemy Engine, not {type(engine).__name__}")
        self.engine = engine
        self.max_tis = check_count("max_tis", max_tis)
        self.executor_slots = check_executor_slots(executor_slots)
        self.policy = check_policy(policy)
        self.queued_by = check_text("queued_by", queued_by)
        self.attempts = check_count("attempts", attempts, 100)
        self.locked_holders = check_locked_holders(locked_holders)
        self._transactions: Transactions | None = None

    def __enter__(self) -> Self:
        self._transactions = Transactions(self._open, self.attempts)
        return self

    def _open(self) -> sa.Connection:
        connection = connect(self.engine)
        try:
            if self.engine not in CHECKED:
                check_server(connection)
                check_schema(connection)
                connection.rollback()
                check_skip_locked(connection, self.engine)
            isolation = isolation_of(connection)
            connection.rollback()
            if isolation != READ_COMMITTED:
                connection = connection.execution_options(isolation_level=READ_COMMITTED)
            if self.engine not in CHECKED:
                check_session(connection)
                CHECKED[self.engine] = misplans(connection)
                connection.rollback()
        except sa.exc.DBAPIError as error:
            connection.close()
            reraise(error, 1)
        except BaseException:
            connection.close()
            raise
        return connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._transactions is not None:
            self._transactions.close()
            self._transactions = None

    def select(self) -> list[Selected]:
        """What may start now, in order. Changes nothing."""
        return self._in_transaction(
            lambda connection: selection.select(connection, self.max_tis, self.executor_slots, self.policy)
        )

    def claim(self) -> list[Claimed]:
        """Select, lock, check again, mark queued, commit; what is returned belongs to the caller alone.

        What others took between selection and lock is left to them, and the rest is selected anew, in a transaction of
        its own: a round never waits for holders while it keeps those of another. Once a round has committed, an error
        in a later one ends the call, which returns what it has; the next call will meet the error if it lasts.
        """
        if self.locked_holders == "skip" and (found := self._claim_unlocked()):
            return found
        claimed: list[Claimed] = []
        slots = dict(self.executor_slots)
        for number in range(1, EMPTY_ROUNDS + 1):
            try:
                selected, won = self._round(self.max_tis - len(claimed), slots)
            except SelectqError:
                if not claimed:
                    raise
                break
            claimed += won
            selection.take_slots(slots, won)
            if len(won) == selected or len(claimed) >= self.max_tis or (claimed and number >= CLAIM_ROUNDS):
                break
        return claimed

    def _claim_unlocked(self) -> list[Claimed]:
        """Claims of the first candidates whose holders nobody has locked, looking ever further behind the others."""
        for reach in REACHES:
            selected, won = self._round(self.max_tis, self.executor_slots, "skip", reach)
            if won or selected < self.max_tis * reach:
                return won
        return []

    def _round(
        self, max_tis: int, slots: Mapping[str, int], locked_holders: str = "wait", reach: int = 1
    ) -> tuple[int, list[Claimed]]:
        try:
            return self._in_transaction(
                lambda connection: selection.claim_round(
                    connection, max_tis, slots, self.policy, self.queued_by, locked_holders, reach
                ),
                settle_claim,
            )
        except CommitUnknownError as error:
            _, error.claimed = error.claimed
            raise

    def blocked_by(
        self,
        dag_id: str | None = None,
        run_id: str | None = None,
        task_id: str | None = None,
        map_index: int | None = None,
        pool: str | None = None,
        after: Key | None = None,
        page_size: int = selection.DEFAULT_PAGE,
    ) -> list[Blocked]:
        """Why scheduled task instances are not admitted; see ``selectq.selection.blocked_by``."""
        return self._in_transaction(
            lambda connection: selection.blocked_by(
                connection,
                self.max_tis,
                self.executor_slots,
                self.policy,
                dag_id=dag_id,
                run_id=run_id,
                task_id=task_id,
                map_index=map_index,
                pool=pool,
                after=after,
                page_size=page_size,
            )
        )

    def _in_transaction(
        self,
        work: Callable[[sa.Connection], T],
        settle: Callable[[sa.Connection, T], T | None] | None = None,
    ) -> T:
        if self._transactions is None:
            raise SelectqError("the pass is not open; use it as 'with SchedulerPass(engine) as p:'")

        def with_planner(connection: sa.Connection) -> T:
            if CHECKED[self.engine]:
                set_planner(connection)
            return work(connection)

        return self._transactions.run(with_planner, settle)


def settle_claim(connection: sa.Connection, result: tuple[int, list[Claimed]]) -> tuple[int, list[Claimed]] | None:
    """What of a round's claims is in the database after its commit was cut off; None if nothing is."""
    selected, won = result
    held = selection.held_claims(connection, won)
    return (selected, held) if held or not won else None
