"""One turn of a scheduler's loop: select, claim, explain, each in a transaction that is retried within a bound."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

import sqlalchemy as sa

from selectq import selection, upstream
from selectq.database import connect, set_planner
from selectq.errors import InvalidParameterError, SelectqError
from selectq.expansion import Expanded, expand
from selectq.memo import MemoStats, UpstreamCounts, UpstreamMemo
from selectq.parameters import check_count, check_executor_slots, check_ids, check_policy, check_runs, check_text
from selectq.rows import Blocked, Claimed, Decision, Key, RunKey, Selected, UpstreamCount
from selectq.settle import MOST_ROUNDS, Settled, settle
from selectq.transactions import CHECKED, fit, in_transaction

T = TypeVar("T")

ARRIVED = "; whether a commit under way arrived, the claim tokens in task_instance tell"

class SchedulerPass:
    """One pass, as a context manager; holds one connection from entry to exit.

    Args:
        engine: best from ``selectq.database.create_engine``; the pass runs in READ COMMITTED whatever its default.
        max_tis: most task instances to admit in the pass, at least 1.
        executor_slots: free slots per executor name; one that is not named is unlimited.
        policy: ``strict``.
        queued_by: name of the scheduler, kept with what it claims.
        attempts: how often a transaction is run at most when it meets deadlocks or serialisation failures.

    Raises:
        InvalidParameterError: a parameter is wrong; the message names it.
        UnsupportedDatabaseError: on entry.
        DatabaseUnreachableError: on entry, or the connection was lost; nothing is left half done.
        SchemaVersionError: on entry, if the tables are missing or of another version.
        RetriesExhaustedError: every attempt met a conflict; nothing was committed.

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
    ) -> None:
        if not isinstance(engine, sa.Engine):
            raise InvalidParameterError("engine", f"must be a SQLAlchemy Engine, not {type(engine).__name__}")
        self.engine = engine
        self.max_tis = check_count("max_tis", max_tis)
        self.executor_slots = check_executor_slots(executor_slots)
        self.policy = check_policy(policy)
        self.queued_by = check_text("queued_by", queued_by)
        self.attempts = check_count("attempts", attempts, 100)
        self._connection: sa.Connection | None = None
        self._memo = UpstreamMemo()

    def __enter__(self) -> Self:
        connection = connect(self.engine)
        try:
            self._connection = fit(connection)
        except BaseException:
            connection.close()
            raise
        self._memo = UpstreamMemo()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def select(self) -> list[Selected]:
        """What may start now, in order. Changes nothing."""
        return self._in_transaction(
            lambda connection: selection.select(connection, self.max_tis, self.executor_slots, self.policy)
        )

    def claim(self) -> list[Claimed]:
        """Select, lock, check again, mark queued, commit; what is returned belongs to the caller alone."""
        return self._in_transaction(
            lambda connection: selection.claim(
                connection, self.max_tis, self.executor_slots, self.policy, self.queued_by
            )
        )

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
        counted = self._in_transaction(lambda connection: upstream.counts_of(connection, wanted))
        self._memo.fill(wanted, counted)

    def upstream_counts(self, dag_id: str, run_id: str, upstream_task_ids: Collection[str]) -> UpstreamCounts:
        """Task instances of a set of upstream tasks in a run, from the memo of the pass or by one query.

        Every task with the same direct upstreams shares the answer, for the length of the pass or until ``expand``
        changes how many instances one of them has. For a task in a mapped group, of which each instance looks at its
        own part, ask ``decide``.
        """
        names = check_ids("upstream_task_ids", upstream_task_ids)

        def ask(missing: Collection[str]) -> list[UpstreamCount]:
            return self._in_transaction(lambda connection: upstream.counts(connection, [(dag_id, run_id)], missing))

        return self._memo.get(dag_id, run_id, names, ask)

    def decide(self, runs: Iterable[RunKey], waiting: bool = True) -> list[Decision]:
        """What becomes of what is not scheduled yet in these runs; see ``selectq.upstream.decide``."""
        return self._decide(check_runs(runs), waiting)

    def _decide(self, runs: Sequence[RunKey], waiting: bool) -> list[Decision]:
        return self._in_transaction(lambda connection: upstream.decisions_of(connection, runs, waiting))

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
            lambda decisions: self._in_transaction(lambda connection: upstream.apply(connection, decisions)),
        )

    def expand(self, dag_id: str, run_id: str, task_id: str, length: int) -> Expanded:
        """Make the instances of a mapped task or group; see ``selectq.expansion.expand``.

        Upstream counts that contain a task whose number of instances changed are forgotten, and no others.
        """
        done = self._in_transaction(lambda connection: expand(connection, dag_id, run_id, task_id, length))
        for name in done.grown:
            self._memo.grew(dag_id, run_id, name)
        return done

    def _in_transaction(self, work: Callable[[sa.Connection], T]) -> T:
        if self._connection is None:
            raise SelectqError("the pass is not open; use it as 'with SchedulerPass(engine) as p:'")

        def planned(connection: sa.Connection) -> T:
            if CHECKED[self.engine]:
                set_planner(connection)
            return work(connection)

        return in_transaction(self._connection, planned, self.attempts, ARRIVED)
