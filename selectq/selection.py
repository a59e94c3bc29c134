"""Selection, claim and explanation on a caller's own connection, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from selectq import selection_mysql
from selectq.claims import claimed_of, holders_of, lockable_claims
from selectq.database import check_isolation
from selectq.executor import query_for, run
from selectq.parameters import check_count, check_executor_slots, check_key, check_map_index, check_policy, check_text
from selectq.rows import Blocked, Claimed, Found, Key, Reason, Selected, selected_of

CLAIM_ROUNDS = 5
"""Most turns of select, lock and claim in one call; a further one is needed only if others took what was selected."""

LOCK_QUERIES = {"wait": "selection/lock_holders", "skip": "selection/lock_free_holders"}
"""What a claim does about holders that somebody else has locked."""

DEFAULT_PAGE = 1000


def select(
    connection: sa.Connection,
    max_tis: int = 512,
    executor_slots: Mapping[str, int] | None = None,
    policy: str = "strict",
) -> list[Selected]:
    """The task instances that may start now, in the total order; at most ``max_tis``. Changes and locks nothing.

    Args:
        executor_slots: free slots per executor name; one that is not named is unlimited; "" is the default executor.

    Raises:
        InvalidParameterError: a parameter is wrong.
        SchemaVersionError: the tables are missing.
    """
    check_count("max_tis", max_tis)
    check_policy(policy)
    slots = check_executor_slots(executor_slots)
    if connection.dialect.name == "mysql":
        return selection_mysql.select(connection, max_tis, slots)
    query = query_for(connection, "selection/select_executable")
    return [selected_of(row) for row in run(connection, query, max_tis=max_tis, executor_slots=slots)]


def claim(
    connection: sa.Connection,
    max_tis: int = 512,
    executor_slots: Mapping[str, int] | None = None,
    policy: str = "strict",
    queued_by: str | None = None,
) -> list[Claimed]:
    """Select, lock, check again under the locks, and mark queued. The caller commits.

    What others took between selection and lock is left to them, and the rest is selected anew, so that nothing
    admissible stays behind. All rounds are in the caller's transaction and keep their locks, so two callers that get in
    each other's way may deadlock; ``SchedulerPass.claim`` ends a transaction with each round.

    Args:
        queued_by: name of the scheduler, written to ``task_instance.queued_by``.

    Raises:
        InvalidParameterError: a parameter is wrong, or the connection is not READ COMMITTED.
        SchemaVersionError: the tables are missing.
    """
    check_count("max_tis", max_tis)
    check_text("queued_by", queued_by)
    check_isolation(connection)
    slots = check_executor_slots(executor_slots)
    claimed: list[Claimed] = []
    for _ in range(CLAIM_ROUNDS):
        selected, won = claim_round(connection, max_tis - len(claimed), slots, policy, queued_by)
        claimed += won
        take_slots(slots, won)
        if len(won) == selected or len(claimed) >= max_tis:
            break
    return claimed


def claim_round(
    connection: sa.Connection,
    max_tis: int,
    executor_slots: Mapping[str, int],
    policy: str = "strict",
    queued_by: str | None = None,
    locked_holders: str = "wait",
    reach: int = 1,
) -> tuple[int, list[Claimed]]:
    """One round of ``claim``: how many were selected, and what of it was claimed.

    Args:
        reach: how many times ``max_tis`` to select; what lies behind the first ``max_tis`` is tried only if nothing of
            them can be had.
    """
    check_isolation(connection)
    selected = select(connection, max_tis * reach, executor_slots, policy)
    for start in range(0, len(selected), max_tis):
        if won := claim_selected(connection, selected[start : start + max_tis], queued_by, locked_holders):
            return len(selected), won
    return len(selected), []


def take_slots(executor_slots: dict[str, int], claimed: Sequence[Claimed]) -> None:
    """Take what was claimed off the executors' free slots."""
    for row in claimed:
        if (row.executor or "") in executor_slots:
            executor_slots[row.executor or ""] -= 1


def held_claims(connection: sa.Connection, claimed: Sequence[Claimed]) -> list[Claimed]:
    """Those of ``claimed`` whose claim token stands in the database: what a commit that was cut off has left."""
    rows = run(connection, query_for(connection, "selection/held_claims"), claimed=claimed_of(claimed))
    found = {row["claim_token"] for row in rows}
    return [row for row in claimed if row.claim_token in found]


def claim_selected(
    connection: sa.Connection, selected: Sequence[Selected], queued_by: str | None = None, locked_holders: str = "wait"
) -> list[Claimed]:
    """Lock the holders of ``selected``, check again under the locks, mark queued what still fits, and return that."""
    query = query_for(connection, LOCK_QUERIES[locked_holders])
    claims = lockable_claims(selected, run(connection, query, holders=holders_of(selected)))
    if not claims:
        return []
    claim_query = query_for(connection, "selection/claim")
    claimed = [Claimed(**row) for row in run(connection, claim_query, claims=claims, queued_by=queued_by)]
    if claimed and connection.dialect.name == "mysql":
        selection_mysql.mark_queued(connection, claimed)
    return claimed


def blocked_by(
    connection: sa.Connection,
    max_tis: int = 512,
    executor_slots: Mapping[str, int] | None = None,
    policy: str = "strict",
    *,
    dag_id: str | None = None,
    run_id: str | None = None,
    task_id: str | None = None,
    map_index: int | None = None,
    pool: str | None = None,
    after: Key | None = None,
    page_size: int = DEFAULT_PAGE,
    admitted: Sequence[Selected] | None = None,
) -> list[Blocked]:
    """Why scheduled task instances are not admitted, by (dag_id, run_id, task_id, map_index), a page at a time.

    Args:
        dag_id, run_id, task_id, map_index, pool: filters; None = any.
        after: the key of the last row of the page before; None = from the start.
        page_size: most rows to return, at least 1.
        admitted: what ``select`` returned for the same ``max_tis`` and ``executor_slots``; None = select now.

    Raises:
        InvalidParameterError: a parameter is wrong.
        SchemaVersionError: the tables are missing.
    """
    check_count("max_tis", max_tis)
    slots = check_executor_slots(executor_slots)
    starts = select(connection, max_tis, slots, policy) if admitted is None else admitted
    after_dag, after_run, after_task, after_index = check_key("after", after) or ("", "", "", -2)
    rows = run(
        connection,
        query_for(connection, "selection/blocked_by"),
        max_tis=max_tis,
        executor_slots=slots,
        admitted=[row.key for row in starts],
        dag_id=check_text("dag_id", dag_id),
        run_id=check_text("run_id", run_id),
        task_id=check_text("task_id", task_id),
        map_index=check_map_index(map_index),
        pool=check_text("pool", pool, 256),
        after_dag_id=after_dag,
        after_run_id=after_run,
        after_task_id=after_task,
        after_map_index=after_index,
        page_size=check_count("page_size", page_size),
    )
    return [as_blocked(list(group)) for _, group in groupby(rows, key=row_key)]


def task_instances(
    connection: sa.Connection,
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: int | None = None,
    page_size: int = DEFAULT_PAGE,
) -> list[Found]:
    """Task instances of one task in one run, whatever their state, by map_index; at most ``page_size``.

    Raises:
        InvalidParameterError: a parameter is wrong.
        SchemaVersionError: the tables are missing.
    """
    rows = run(
        connection,
        query_for(connection, "selection/task_instances"),
        dag_id=check_text("dag_id", dag_id),
        run_id=check_text("run_id", run_id),
        task_id=check_text("task_id", task_id),
        map_index=check_map_index(map_index),
        page_size=check_count("page_size", page_size),
    )
    return [Found(**row) for row in rows]


def row_key(row: Mapping[str, Any]) -> Key:
    return (row["dag_id"], row["run_id"], row["task_id"], row["map_index"])


def as_blocked(rows: list[dict[str, Any]]) -> Blocked:
    reasons = tuple(
        Reason(row["limit_name"], tuple(row["holder"]), row["used"], row["capacity"], row["never"]) for row in rows
    )
    return Blocked(*row_key(rows[0]), rows[0]["pool"], rows[0]["pool_slots"], reasons)
