"""The parse queue of an engine: each call is a transaction of its own, retried within a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from selectq.errors import InvalidParameterError
from selectq.opening import open_fit
from selectq.parameters import check_count, check_text
from selectq.parsing import statements
from selectq.parsing.checked import check_bundle
from selectq.parsing.folder import list_folder
from selectq.parsing.rows import Arrival, ClaimedFile, FileKey, FoundFile, Metrics, Scanned, Waiting
from selectq.parsing.scan import parts, scan_part
from selectq.parsing.settings import Settings
from selectq.transactions import Transactions

T = TypeVar("T")

class ParseQueue:
    """Which dag file is read next. Any number of these, in any number of processes, work on the same tables.

    Args:
        engine: best from ``selectq.database.create_engine``.
        settings: intervals and shares; all who claim from the same tables should have the same.
        claimed_by: name of the processor, kept with what it claims.
        clock: where the time comes from; None = the database's clock, which all processors share. For tests.
        attempts: how often a transaction is run at most when it meets conflicts or loses its connection.

    Raises:
        InvalidParameterError: a parameter is wrong; the message names it.
        UnsupportedDatabaseError, SchemaVersionError: of any call, from the database.
        DatabaseUnreachableError, DatabaseReadOnlyError, RetriesExhaustedError, StatementCancelledError: of any call, as
            of ``SchedulerPass``; nothing was committed.
        CommitUnknownError: of any call that writes: the connection was lost during its commit. All but ``enqueue`` and
            ``finish`` can be called again; files of a claim that arrived are given back after the timeout.

    Example:
        >>> queue = ParseQueue(engine, claimed_by="processor-1")  # doctest: +SKIP
        >>> queue.scan_folder("main", Path("dags"))
        >>> while True:
        ...     queue.give_back()
        ...     queue.refill()
        ...     for file in queue.claim(slots=4):
        ...         queue.finish(file, dag_ids=parse(file.path, file.callbacks))
    """

    def __init__(
        self,
        engine: sa.Engine,
        settings: Settings | None = None,
        *,
        claimed_by: str | None = None,
        clock: Callable[[], datetime] | None = None,
        attempts: int = 5,
    ) -> None:
        if not isinstance(engine, sa.Engine):
            raise InvalidParameterError("engine", f"must be a SQLAlchemy Engine, not {type(engine).__name__}")
        self.engine = engine
        self.settings = settings or Settings()
        self.claimed_by = check_text("claimed_by", claimed_by)
        self.attempts = check_count("attempts", attempts, 100)
        self._clock = clock

    def enqueue(self, arrivals: Iterable[Arrival]) -> None:
        """Let callbacks and requests wait, in the order given; see ``selectq.parsing.statements.enqueue``."""
        given, now = list(arrivals), self._now()
        self._in_transaction(lambda connection: statements.enqueue(connection, given, now))

    def request(self, bundle: str, path: str) -> None:
        """A user wants this file to be parsed before all others."""
        self.enqueue([Arrival(bundle, path, "requested")])

    def scan(self, bundle: str, files: Iterable[FoundFile], listed_at: datetime | None = None) -> Scanned:
        """Compare a listing of the whole bundle with what is known: new, changed and deleted files.

        New and changed files are queued at once, deleted ones leave the queue with all that waits for them. A large
        listing is several transactions; if one fails, scan again.

        Args:
            listed_at: when the listing began, by the database's clock; None = now. Files that came in since, by a
                callback or another scan, are kept even if they are not listed.

        Raises:
            InvalidParameterError: a file is wrong or listed twice; nothing was changed.
        """
        check_bundle(bundle)
        pieces, now = list(parts(files)), self._now()
        began = listed_at or now or self.now()
        on_part = partial(scan_part, bundle=bundle, listed_at=began, now=now)
        done = [self._in_transaction(partial(on_part, part=part)) for part in pieces]
        counts = zip(*((each.found, each.new, each.changed, each.forgotten) for each in done), strict=True)
        return Scanned(*(sum(count) for count in counts))

    def scan_folder(self, bundle: str, folder: Path, pattern: str = "*.py", digest: bool = False) -> Scanned:
        """List a folder and ``scan`` the result; see ``selectq.parsing.folder.list_folder``."""
        listed_at = self.now()
        listing = list_folder(folder, pattern, digest)
        found = self.scan(bundle, listing.files, listed_at)
        return Scanned(found.found, found.new, found.changed, found.forgotten, listing.skipped)

    def refill(self) -> int:
        """Queue all files that are due, once those of the last refill are handed out; how many."""
        now = self._now()
        return self._in_transaction(lambda connection: statements.refill(connection, self.settings, now))

    def claim(self, slots: int = 1) -> list[ClaimedFile]:
        """Take the next files, at most ``slots``, in the order of their turn; nobody else gets them until then."""
        now = self._now()
        return self._in_transaction(
            lambda connection: statements.claim(connection, slots, self.settings, self.claimed_by, now)
        )

    def finish(
        self,
        file: ClaimedFile,
        *,
        error: str | None = None,
        dag_ids: Sequence[str] | None = None,
        duration: float | None = None,
    ) -> bool:
        """Note what became of a claim; False if it was given back meanwhile. See ``statements.finish``."""
        now = self._now()
        return self._in_transaction(
            lambda connection: statements.finish(
                connection, file, error=error, dag_ids=dag_ids, duration=duration, now=now
            )
        )

    def give_back(self) -> int:
        """Let files wait again whose processors were not heard of for the timeout; how many."""
        now = self._now()
        return self._in_transaction(lambda connection: statements.give_back(connection, self.settings, now))

    def now(self) -> datetime:
        """The time that the queue goes by."""
        return self._now() or self._read(statements.clock)

    def due(self) -> list[FileKey]:
        """The files that are due to be parsed, whether they wait already or not."""
        now = self._now()
        return self._read(lambda connection: statements.due(connection, self.settings, now))

    def waiting(self, page_size: int = 1000) -> list[Waiting]:
        """What waits, lane by lane in the order of service; at most ``page_size`` of each."""
        now = self._now()
        return self._read(lambda connection: statements.waiting(connection, page_size, now))

    def metrics(self) -> Metrics:
        """Depths, ages and counts."""
        now = self._now()
        return self._read(lambda connection: statements.metrics(connection, now))

    def _now(self) -> datetime | None:
        return self._clock() if self._clock else None

    def _read(self, work: Callable[[sa.Connection], T]) -> T:
        with self._transactions() as transactions:
            return transactions.read(work)

    def _in_transaction(self, work: Callable[[sa.Connection], T]) -> T:
        with self._transactions() as transactions:
            return transactions.run(work)

    def _transactions(self) -> closing[Transactions]:
        return closing(Transactions(partial(open_fit, self.engine), self.attempts))
