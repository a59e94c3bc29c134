"""The data that plans are checked on is what it says."""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa

from benchmarks.plan_workloads.decisions import BehindMapped, ManyRuns
from benchmarks.plan_workloads.folders import NOW, SETTINGS, FilesDue, FilesWait
from selectq.parsing import statements
from selectq.upstream import decide

ROWS = 10_000


def instances(connection: sa.Connection) -> int:
    return connection.scalar(sa.text("SELECT COUNT(*) FROM task_instance")) or 0


def test_runs_to_decide_beside_history(engine: sa.Engine) -> None:
    ManyRuns(ROWS).load(engine)
    with engine.connect() as connection:
        decided = decide(connection, [(f"dag_{dag:05}", "run_00000") for dag in range(10)])
        # In a run that went far nothing may be left to decide.
        assert 8 <= len({row.key[:2] for row in decided}) <= 10
        assert {row.reason for row in decided} >= {"rule"}
        assert instances(connection) == ROWS


def test_many_tasks_behind_a_mapped_one(engine: sa.Engine) -> None:
    workload = BehindMapped(ROWS)
    workload.load(engine)
    with engine.connect() as connection:
        decided = decide(connection, [("dag", "run")])
        assert {row.expected for row in decided} == {workload.instances}
        assert len(decided) == workload.decided - workload.instances
        assert instances(connection) == ROWS


def test_files_that_are_due_and_files_that_wait(engine: sa.Engine) -> None:
    FilesDue(ROWS).load(engine)
    with engine.connect() as connection:
        assert len(statements.due(connection, SETTINGS, NOW)) == 100
        counted = statements.metrics(connection, NOW)
        assert (counted.files, counted.being_read, counted.outstanding) == (1000, 10, 0)
        assert statements.give_back(connection, SETTINGS, NOW) == 5
        assert statements.refill(connection, SETTINGS, NOW) == 100


def test_a_lane_that_every_file_waits_in(engine: sa.Engine) -> None:
    FilesWait(ROWS).load(engine)
    with engine.connect() as connection:
        assert statements.refill(connection, SETTINGS, NOW) == 0
        waiting = Counter(row.lane for row in statements.waiting(connection, 10_000, NOW))
        assert waiting == {"priority": 90, "standard": 990}
