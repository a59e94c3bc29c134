"""What deciding and counting read: an index of the task instances once, however many tasks look at them."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from benchmarks.base_reads import base_reads
from benchmarks.reads import recorded
from benchmarks.upstream.workloads import load_mapped, load_runs
from selectq.executor import query_for
from selectq.literals import render
from selectq.scheduler_pass import SchedulerPass
from selectq.upstream import counts, decide

INDEX = "ix_task_instance_upstream"
ONLY = {
    "postgresql": f"Index Only Scan using {INDEX}",
    "mysql": f"Covering index lookup on task_instance using {INDEX}",
}


def instances(connection: sa.Connection) -> int:
    return connection.scalar(sa.text("SELECT COUNT(*) FROM task_instance")) or 0


def test_deciding_reads_each_row_about_once(engine: sa.Engine) -> None:
    runs = load_runs(engine, dags=8, runs=40, tasks=40)
    with engine.connect() as connection:
        assert len(decide(connection, runs)) > 400
        assert base_reads(connection, lambda: decide(connection, runs)) <= 1.5 * instances(connection)


def test_a_large_mapped_upstream_is_counted_once_for_all_its_downstreams(engine: sa.Engine) -> None:
    runs = load_mapped(engine, instances=2_000, downstreams=100)
    with engine.connect() as connection:
        decided = decide(connection, runs)
        assert [row.expected for row in decided if row.task_id != "mapped"] == [2_000] * 100
        assert base_reads(connection, lambda: decide(connection, runs)) <= 1.5 * instances(connection)


def test_many_runs_take_one_statement(engine: sa.Engine) -> None:
    runs = load_runs(engine, dags=4, runs=250, tasks=5)
    with SchedulerPass(engine) as p, recorded(engine) as statements:
        assert p.decide(runs)
    assert [one.query for one in statements if one.query != "other"] == ["upstream/decide.v1"]


def test_a_row_that_was_not_rescheduled_is_not_looked_up_again(engine: sa.Engine) -> None:
    runs = load_runs(engine, dags=2, runs=10, tasks=20)
    with engine.connect() as connection:
        everything = instances(connection)
        before = base_reads(connection, lambda: decide(connection, runs))
        waiting = sa.text("UPDATE task_instance SET state = 'up_for_retry' WHERE state IS NULL")
        rescheduled = connection.execute(waiting).rowcount
        assert 0 < rescheduled <= base_reads(connection, lambda: decide(connection, runs)) - before <= everything


def test_counting_reads_an_index_only(engine: sa.Engine) -> None:
    runs = load_runs(engine, dags=8, runs=40, tasks=40)
    with engine.connect() as connection:
        query = query_for(connection, "upstream/counts")
        for some, tasks in ((runs[:1], ["task_00001", "task_00002"]), (runs[:5], None)):
            asked = [{"dag_id": dag_id, "run_id": run_id} for dag_id, run_id in some]
            assert sum(row.instances for row in counts(connection, some, tasks)) == len(some) * (2 if tasks else 40)
            sql = render(query, {"runs": asked, "task_ids": tasks})
            plan = connection.exec_driver_sql(f"EXPLAIN {sql}", execution_options={"no_parameters": True})
            assert ONLY[engine.dialect.name] in "\n".join(map(str, plan.scalars())), json.dumps(asked)


@pytest.mark.parametrize("engine_name", ["postgresql", "postgresql15"])
def test_the_planner_is_left_as_it_was(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        connection.execute(sa.text("SET LOCAL enable_nestloop = on"))
        decide(connection, [("d", "r")])
        assert connection.scalar(sa.text("SHOW enable_nestloop")) == "on"
