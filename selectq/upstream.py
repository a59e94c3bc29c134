"""Trigger rules on a caller's own connection, inside the caller's transaction: decide what may be scheduled."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import sqlalchemy as sa

from selectq.database import check_isolation, without_nested_loops
from selectq.executor import query_for, run, run_count
from selectq.parameters import check_ids, check_runs
from selectq.rows import Changed, Decision, RunKey, UpstreamCount, key_columns


def counts(
    connection: sa.Connection, runs: Iterable[RunKey], task_ids: Collection[str] | None = None
) -> list[UpstreamCount]:
    """Task instances of these tasks in each of these runs, by task and state, in one query. Changes and locks nothing.

    Args:
        runs: (dag_id, run_id) of each.
        task_ids: None = all tasks.

    Raises:
        InvalidParameterError: a parameter is wrong.
        SchemaVersionError: the tables are missing.
    """
    names = None if task_ids is None else check_ids("upstream_task_ids", task_ids)
    return counts_of(connection, check_runs(runs), names)


def counts_of(
    connection: sa.Connection, runs: Iterable[RunKey], task_ids: list[str] | None = None
) -> list[UpstreamCount]:
    """``counts``, of parameters that were checked already."""
    rows = run(connection, query_for(connection, "upstream/counts"), runs=as_json(runs), task_ids=task_ids)
    return [UpstreamCount(**row) for row in rows]


def upstream_tasks(connection: sa.Connection, dag_id: str, task_id: str) -> list[tuple[str, str]]:
    """(task_id, relation) of what a task has to look at; see ``selectq.schema_upstream.RELATIONS``.

    Raises:
        SchemaVersionError: the tables are missing.
    """
    rows = run(connection, query_for(connection, "upstream/upstream_tasks"), dag_id=dag_id, task_id=task_id)
    return [(row["task_id"], row["relation"]) for row in rows]


def as_json(runs: Iterable[RunKey]) -> list[dict[str, str]]:
    return [{"dag_id": dag_id, "run_id": run_id} for dag_id, run_id in runs]


def decide(connection: sa.Connection, runs: Iterable[RunKey], waiting: bool = True) -> list[Decision]:
    """What becomes of every task instance of these runs that is not scheduled yet. Changes and locks nothing.

    That is: of those in no state, ``up_for_retry`` or ``up_for_reschedule``, if ``selectq.define`` defined their dag.
    One statement, however many runs.

    Args:
        runs: (dag_id, run_id) of each; a run that does not exist has nothing to decide.
        waiting: with those that have to wait (default), or without.

    Raises:
        InvalidParameterError: a parameter is wrong.
        SchemaVersionError: the tables are missing.
    """
    return decisions_of(connection, check_runs(runs), waiting)


def decisions_of(connection: sa.Connection, runs: Iterable[RunKey], waiting: bool = True) -> list[Decision]:
    """``decide``, of runs that were checked already."""
    wanted = as_json(runs)
    if not wanted:
        return []
    with without_nested_loops(connection):
        rows = run(connection, query_for(connection, "upstream/decide"), runs=wanted, waiting=waiting)
    return [Decision(**row) for row in rows]


def apply(connection: sa.Connection, decisions: Iterable[Decision]) -> list[Changed]:
    """Put task instances into the states that were decided for them, by key. The caller commits.

    ``run`` becomes ``scheduled``, with one try more unless it was rescheduled. One that is no longer in the state that
    it was decided from is left alone, and so is what somebody else is changing at the moment, what waits, what is in a
    run that is not running, and a placeholder that may be expanded.

    Raises:
        InvalidParameterError: the connection is not READ COMMITTED.
        SchemaVersionError: the tables are missing.
    """
    check_isolation(connection)
    wanted = [
        {**key_columns(row), "state": row.state, "decision": row.decision}
        for row in decisions
        if row.decision != "wait" and not (row.decision == "run" and row.is_placeholder)
    ]
    if not wanted:
        return []
    rows = run(connection, query_for(connection, "upstream/apply"), decisions=wanted)
    changed = [Changed(**row) for row in rows]
    if changed and connection.dialect.name == "mysql":
        decided = [{**key_columns(row), "state": row.state} for row in changed]
        run_count(connection, query_for(connection, "upstream/mark_decided"), decided=decided)
    return changed
