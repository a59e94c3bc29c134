"""Trigger rules on a caller's own connection, inside the caller's transaction: decide what may be scheduled."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from selectq.database import without_nested_loops
from selectq.executor import query_for, run
from selectq.parameters import check_runs
from selectq.rows import Decision, RunKey


def decide(connection: sa.Connection, runs: Iterable[RunKey], waiting: bool = True) -> list[Decision]:
    """What becomes of every task instance of these runs that is not scheduled yet. Changes and locks nothing.

    That is: of those in no state, ``up_for_retry`` or ``up_for_reschedule``, if ``selectq.define`` defined their dag.

    Args:
        runs: (dag_id, run_id) of each; a run that does not exist has nothing to decide.
        waiting: with those that have to wait (default), or without.

    Raises:
        InvalidParameterError: a parameter is wrong.
        SchemaVersionError: the tables are missing.
    """
    wanted = [{"dag_id": dag_id, "run_id": run_id} for dag_id, run_id in check_runs(runs)]
    if not wanted:
        return []
    with without_nested_loops(connection):
        rows = run(connection, query_for(connection, "upstream/decide"), runs=wanted, waiting=waiting)
    return [Decision(**row) for row in rows]
