"""The parse queue on a caller's own connection, inside the caller's transaction: the order of the queries, no more.

Every function takes ``now``, the time to go by; None is the database's clock. Who changes what concerns a file holds
the lock on its row; who decides about turns, or changes which files there are, first takes the lock of ``parse_state``.
The transaction must be READ COMMITTED: what follows a lock must see what was committed before it was granted.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from selectq.database import check_isolation
from selectq.executor import query_for, run, run_count
from selectq.parameters import check_count, check_text
from selectq.parsing.checked import check_arrival, check_dag_ids, error_text, moment, payload_text
from selectq.parsing.rows import LANE_OF, Arrival, Callback, ClaimedFile, FileKey, Lane, Metrics, Waiting
from selectq.parsing.settings import Settings, milliseconds

MOST_SLOTS = 10_000
ARRIVALS_PER_STATEMENT = 1_000
GIVEN_BACK_AT_ONCE = 1_000


def rows(connection: sa.Connection, name: str, **parameters: Any) -> list[dict[str, Any]]:
    return run(connection, query_for(connection, f"parsing/{name}"), **parameters)


def change(connection: sa.Connection, name: str, **parameters: Any) -> int:
    return run_count(connection, query_for(connection, f"parsing/{name}"), **parameters)


def lock_state(connection: sa.Connection) -> None:
    """Wait for other claims, refills, scans and givings back."""
    check_isolation(connection)
    if not rows(connection, "lock_state"):
        change(connection, "add_state")
        rows(connection, "lock_state")


def enqueue(connection: sa.Connection, arrivals: Sequence[Arrival], now: datetime | None = None) -> None:
    """Let arrivals wait, each in its lane. One whose file waits there already joins that and keeps its place.

    A file that no scan has found yet is taken in; if the next scan does not find it either, it is dropped.

    Raises:
        InvalidParameterError: an arrival is wrong; nothing of the call is kept.
    """
    check_isolation(connection)
    for arrival in arrivals:
        check_arrival(arrival)
    for start in range(0, len(arrivals), ARRIVALS_PER_STATEMENT):
        enqueue_some(connection, arrivals[start : start + ARRIVALS_PER_STATEMENT], now)


def enqueue_some(connection: sa.Connection, arrivals: Sequence[Arrival], now: datetime | None) -> None:
    at = moment(connection, "now", now)
    names = dict.fromkeys((arrival.bundle, arrival.path) for arrival in arrivals)
    files = [{"bundle": bundle, "path": path} for bundle, path in names]
    ids = lock_files(connection, files)
    while len(ids) < len(files):
        # A scan may drop a file again before its lock is ours.
        change(connection, "add_files", files=files, now=at)
        ids = lock_files(connection, files)
    placed = [
        {"file_id": ids[arrival.bundle, arrival.path], "lane": LANE_OF[arrival.kind], "kind": arrival.kind}
        for arrival in arrivals
    ]
    change(connection, "add_requests", arrivals=placed, now=at)
    payloads = [
        {**place, "payload": payload_text(arrival.payload)}
        for place, arrival in zip(placed, arrivals, strict=True)
        if arrival.kind != "requested"
    ]
    if payloads:
        change(connection, "add_payloads", payloads=payloads)


def lock_files(connection: sa.Connection, files: list[dict[str, str]]) -> dict[FileKey, int]:
    return {(row["bundle"], row["path"]): row["file_id"] for row in rows(connection, "lock_files", files=files)}


def refill(connection: sa.Connection, settings: Settings, now: datetime | None = None) -> int:
    """Queue every file that is due, if no file of the last refill waits any more; how many."""
    lock_state(connection)
    at = moment(connection, "now", now)
    interval = milliseconds(settings.min_file_process_interval)
    if not change(connection, "refill", min_interval_ms=interval, now=at):
        return 0
    change(connection, "mark_refill", now=at)
    [counted] = rows(connection, "outstanding")
    outstanding: int = counted["outstanding"]
    return outstanding


def claim(
    connection: sa.Connection,
    slots: int,
    settings: Settings,
    claimed_by: str | None = None,
    now: datetime | None = None,
) -> list[ClaimedFile]:
    """Take the next files, at most ``slots``, in the order of their turn. The caller commits.

    Whatever waits for a file is handed out with it: one reading serves all.
    """
    check_count("slots", slots, MOST_SLOTS)
    check_text("claimed_by", claimed_by)
    lock_state(connection)
    at = moment(connection, "now", now)
    [turn] = rows(
        connection,
        "turn",
        slots=slots,
        share=settings.share,
        max_interval_ms=milliseconds(settings.max_file_process_interval),
        now=at,
    )
    priority_slots = turn.pop("priority_slots")
    times = {name: moment(connection, name, turn[name]) for name in ("waits_since", "breather_at")}
    change(connection, "set_turn", **turn | times)
    chosen = rows(
        connection,
        "claim_files",
        slots=slots,
        priority_slots=priority_slots,
        page=3 * slots,
        min_interval_ms=milliseconds(settings.min_file_process_interval),
        now=at,
    )
    return take(connection, chosen, claimed_by, at) if chosen else []


def take(
    connection: sa.Connection, chosen: list[dict[str, Any]], claimed_by: str | None, at: datetime | None
) -> list[ClaimedFile]:
    """Put claims on files that are locked, with all that waits for them."""
    tokens = {row["file_id"]: uuid.uuid4() for row in chosen}
    claims = [
        {"file_id": row["file_id"], "claim_token": tokens[row["file_id"]].hex, "parse": row["parse"]} for row in chosen
    ]
    file_ids = list(tokens)
    change(connection, "take_files", claims=claims, claimed_by=claimed_by, now=at)
    change(connection, "take_requests", file_ids=file_ids)
    callbacks: dict[int, list[Callback]] = defaultdict(list)
    for row in rows(connection, "claimed_payloads", file_ids=file_ids):
        callbacks[row["file_id"]].append(Callback(row["kind"], json.loads(row["payload"])))
    return [
        ClaimedFile(**row, callbacks=tuple(callbacks[row["file_id"]]), claim_token=tokens[row["file_id"]])
        for row in chosen
    ]


def finish(
    connection: sa.Connection,
    file: ClaimedFile,
    *,
    error: str | None = None,
    dag_ids: Sequence[str] | None = None,
    duration: float | None = None,
    now: datetime | None = None,
) -> bool:
    """Note what became of a claim, and let the file go.

    Args:
        error: what kept the file from being parsed, None if nothing did; a file with an error counts as parsed.
        dag_ids: the dags that were imported, None if not known.
        duration: seconds; None = since the claim, by the database's clock.

    Returns:
        False if the claim was given back meanwhile or the file is gone: then nothing changes.

    Raises:
        InvalidParameterError: a parameter is wrong.
    """
    check_isolation(connection)
    result = {
        "file_id": file.file_id,
        "duration_ms": None if duration is None else milliseconds(max(duration, 0)),
        "error": error_text(error),
        "dag_ids": check_dag_ids(dag_ids),
    }
    claims = [{"file_id": file.file_id, "claim_token": file.claim_token.hex}]
    if not rows(connection, "lock_claims", claims=claims):
        return False
    change(connection, "finish_files", results=[result], now=moment(connection, "now", now))
    drop(connection, [file.file_id], given_back=0)
    return True


def drop(connection: sa.Connection, file_ids: list[int], given_back: int) -> None:
    change(connection, "drop_requests", file_ids=file_ids)
    change(connection, "release_files", file_ids=file_ids, given_back=given_back)


def give_back(connection: sa.Connection, settings: Settings, now: datetime | None = None) -> int:
    """Let what was claimed longer than the timeout ago wait again, at the back of its lanes; how many files."""
    lock_state(connection)
    at = moment(connection, "now", now)
    change(connection, "rebase_claims", now=at)
    overdue = rows(
        connection,
        "overdue_files",
        timeout_ms=milliseconds(settings.timeout),
        page_size=GIVEN_BACK_AT_ONCE,
        now=at,
    )
    file_ids = [row["file_id"] for row in overdue]
    if file_ids:
        change(connection, "put_back", file_ids=file_ids)
        change(connection, "move_payloads", file_ids=file_ids)
        drop(connection, file_ids, given_back=1)
    return len(file_ids)


def clock(connection: sa.Connection) -> datetime:
    """The database's time."""
    [row] = rows(connection, "clock")
    now: datetime = row["now"]
    return now


def due(connection: sa.Connection, settings: Settings, now: datetime | None = None) -> list[FileKey]:
    """The files that are due to be parsed, whether they wait already or not, by bundle and path."""
    interval = milliseconds(settings.min_file_process_interval)
    found = rows(connection, "due", min_interval_ms=interval, now=moment(connection, "now", now))
    return [(row["bundle"], row["path"]) for row in found]


def waiting(connection: sa.Connection, page_size: int = 1000, now: datetime | None = None) -> list[Waiting]:
    """What waits, lane by lane in the order of service; at most ``page_size`` of each."""
    check_count("page_size", page_size)
    found = rows(connection, "waiting", page_size=page_size, now=moment(connection, "now", now))
    return [Waiting(**row) for row in found]


def metrics(connection: sa.Connection, now: datetime | None = None) -> Metrics:
    """Counts and ages of the queue. Reads all files and requests: for people, not for every claim."""
    lanes = tuple(Lane(**row) for row in rows(connection, "lanes", now=moment(connection, "now", now)))
    [counted] = rows(connection, "metrics")
    return Metrics(lanes=lanes, **counted)
