"""One turn of a scheduler's loop: select, claim, explain, each in a transaction that is retried within a bound."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

import sqlalchemy as sa

from selectq import selection, upstream
from selectq.database import set_planner
from selectq.errors import CommitUnknownError, InvalidParameterError, SelectqError
from selectq.expansion import Expanded, expand
from selectq.memo import MemoStats, UpstreamCounts, UpstreamMemo
from selectq.opening import needs_planner, open_fit
from selectq.parameters import (
    check_count,
    check_executor_slots,
    check_ids,
    check_locked_holders,
    check_policy,
    check_runs,
    check_text,
)
from selectq.rows import Blocked, Changed, Claimed, Decision, Key, RunKey, Selected, UpstreamCount
from selectq.settle import MOST_ROUNDS, Settled, settle
from selectq.transactions import Transactions

T = TypeVar("T")
Work = Callable[[sa.Connection], T]

EMPTY_ROUNDS = 25
"""Most rounds of a claim while nothing was claimed at all: each time, others have claimed."""
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
        CommitUnknownError: the connection was lost during a commit and none could be had to ask; see its ``result``
            and ``committed``.

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
        self._memo = UpstreamMemo()

    def __enter__(self) -> Self:
        self._transactions = Transactions(partial(open_fit, self.engine), self.attempts)
        self._memo = UpstreamMemo()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._transactions is not None:
            self._transactions.close()
            self._transactions = None

    def select(self) -> list[Selected]:
        """What may start now, in order. Changes nothing."""
        return self._read(
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
            except CommitUnknownError as error:
                error.committed = claimed
                raise
            except SelectqError:
                if not claimed:
                    raise
                break
            claimed += won
            selection.take_slots(slots, won)
            if len(won) == selected or len(claimed) >= self.max_tis or (claimed and number >= selection.CLAIM_ROUNDS):
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
        work: Work[tuple[int, list[Claimed]]] = self._planned(
            lambda connection: selection.claim_round(
                connection, max_tis, slots, self.policy, self.queued_by, locked_holders, reach
            )
        )
        try:
            return self._open().run(work, settle_claim)
        except CommitUnknownError as error:
            _, error.result = error.result
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
        return self._read(
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

    @property
    def memo_stats(self) -> MemoStats:
        """How often the memo of upstream counts answered, asked the database, and dropped an entry in this pass."""
        return self._memo.stats

    def prefetch_upstream_counts(self, runs: Iterable[RunKey]) -> None:
        """Count all tasks of these runs in one query; whatever set of upstreams is asked for then takes none.

        Args:
            runs: (dag_id, run_id) of each.
        """
        wanted = check_runs(runs)
        counted = self._read(lambda connection: upstream.counts_of(connection, wanted))
        self._memo.fill(wanted, counted)

    def upstream_counts(self, dag_id: str, run_id: str, upstream_task_ids: Collection[str]) -> UpstreamCounts:
        """Task instances of a set of upstream tasks in a run, from the memo of the pass or by one query.

        Every task with the same direct upstreams shares the answer, for the length of the pass or until ``expand``
        changes how many instances one of them has. For a task in a mapped group, of which each instance looks at its
        own part, ask ``decide``.
        """
        names = check_ids("upstream_task_ids", upstream_task_ids)

        def ask(missing: Collection[str]) -> list[UpstreamCount]:
            return self._read(lambda connection: upstream.counts(connection, [(dag_id, run_id)], missing))

        return self._memo.get(dag_id, run_id, names, ask)

    def decide(self, runs: Iterable[RunKey], waiting: bool = True) -> list[Decision]:
        """What becomes of what is not scheduled yet in these runs; see ``selectq.upstream.decide``."""
        return self._decide(check_runs(runs), waiting)

    def _decide(self, runs: Sequence[RunKey], waiting: bool) -> list[Decision]:
        return self._read(lambda connection: upstream.decisions_of(connection, runs, waiting))

    def apply(self, runs: Iterable[RunKey], most_rounds: int = MOST_ROUNDS) -> Settled:
        """Decide, and put into the states decided, until nothing changes in these runs any more.

        Each round of deciding and applying is a transaction of its own: what was committed stays if a later one fails.

        Args:
            runs: (dag_id, run_id) of each; what is in a run that is not running is left alone.
            most_rounds: a bound, at least 1; a chain of skips takes one round per task.
        """
        check_count("most_rounds", most_rounds)
        return settle(
            check_runs(runs),
            most_rounds,
            lambda todo: self._decide(todo, waiting=False),
            self._apply,
        )

    def _apply(self, decisions: Sequence[Decision]) -> list[Changed]:
        work = self._planned(lambda connection: upstream.apply(connection, decisions))
        attempts = self._open().run_twice(work)
        return list({row.key: row for changed in attempts for row in changed}.values())

    def expand(self, dag_id: str, run_id: str, task_id: str, length: int) -> Expanded:
        """Make the instances of a mapped task or group; see ``selectq.expansion.expand``.

        Upstream counts that contain a task whose number of instances changed are forgotten, and no others.
        """
        work = self._planned(lambda connection: expand(connection, dag_id, run_id, task_id, length))
        attempts = self._open().run_twice(work)
        for name in {name for done in attempts for name in done.grown}:
            self._memo.grew(dag_id, run_id, name)
        return attempts[0]

    def _open(self) -> Transactions:
        if self._transactions is None:
            raise SelectqError("the pass is not open; use it as 'with SchedulerPass(engine) as p:'")
        return self._transactions

    def _planned(self, work: Work[T]) -> Work[T]:
        def planned(connection: sa.Connection) -> T:
            if needs_planner(self.engine):
                set_planner(connection)
            return work(connection)

        return planned

    def _read(self, work: Work[T]) -> T:
        return self._open().read(self._planned(work))


def settle_claim(connection: sa.Connection, result: tuple[int, list[Claimed]]) -> tuple[int, list[Claimed]] | None:
    """What of a round's claims is in the database after its commit was cut off; None if nothing is."""
    selected, won = result
    held = selection.held_claims(connection, won)
    return (selected, held) if held or not won else None
