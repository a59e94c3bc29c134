"""A selection on PostgreSQL reads the index in selection order, whatever the planner believes and is set to."""

from __future__ import annotations

import re
from collections import Counter

import pytest
import sqlalchemy as sa

from benchmarks.peers.mixed import Mixed
from benchmarks.peers.parts import OneAtATime
from benchmarks.workloads import Cross, Uniform
from selectq.executor import query_for
from selectq.plans.model import Plan
from selectq.plans.postgresql import explain
from tests.servers.names import EVERY_POSTGRESQL

SELECTION = "selection/select_executable"
NOTHING_MARKED_VISIBLE = "UPDATE pg_class SET relallvisible = 0 WHERE oid = 'task_instance'::regclass"
NEVER_ANALYSED = """
    DELETE FROM pg_statistic WHERE starelid IN ('task_instance'::regclass, 'dag_run'::regclass, 'dag'::regclass)
"""
TAKEN_FOR_EMPTY = """
    UPDATE pg_class SET reltuples = 0, relpages = 0, relallvisible = 0
    WHERE relname IN ('task_instance', 'task', 'dag_run', 'dag', 'slot_pool')
        OR relname IN (SELECT indexname FROM pg_indexes WHERE tablename = 'task_instance')
"""


def analysed(engine: sa.Engine) -> Plan:
    """The plan of a selection of 512, run."""
    with engine.connect() as connection:
        parameters = {"max_tis": 512, "executor_slots": {}}
        return explain(connection, query_for(connection, SELECTION), parameters, analyze=True)


def loops_by_path(engine: sa.Engine) -> dict[str, int]:
    return {access.path: access.loops for access in analysed(engine).accesses if access.loops}


def plan(connection: sa.Connection) -> str:
    query = query_for(connection, SELECTION)
    rows = connection.execute(sa.text("EXPLAIN " + query.sql), {"max_tis": 512, "executor_slots": "{}"})
    return "\n".join(rows.scalars())


@pytest.mark.parametrize("engine_name", EVERY_POSTGRESQL)
def test_lines_are_read_by_the_index_whatever_the_planner_believes(engine: sa.Engine) -> None:
    Uniform(20_000).load(engine)
    with engine.begin() as connection:
        # A server's own setting; sessions of selectq leave it alone.
        connection.exec_driver_sql("SET LOCAL random_page_cost = 4")
        for change in ("SELECT 1", NOTHING_MARKED_VISIBLE, NEVER_ANALYSED, TAKEN_FOR_EMPTY):
            connection.exec_driver_sql(change)
            found = plan(connection)
            assert found.count("Index Only Scan using ix_task_instance_selection") == 3
            assert "Bitmap Index Scan on ix_task_instance_selection" not in found
            assert "Seq Scan on task_instance" not in found


@pytest.mark.parametrize("engine_name", EVERY_POSTGRESQL)
def test_rows_that_wait_for_others_of_their_run_are_decided_together(engine: sa.Engine) -> None:
    """Each of them that could follow another one ended a step before, which sorts all rows at hand: 54 steps here."""
    Mixed(10_000).load(engine)
    [walk] = [node for node in analysed(engine).walk() if node.text.startswith("CTE walk:")]
    _, steps = walk.children
    assert steps.loops is not None
    assert steps.loops <= 8


@pytest.mark.parametrize("engine_name", EVERY_POSTGRESQL)
def test_rows_of_tasks_that_the_pass_has_filled_are_dropped_as_they_are_read(engine: sa.Engine) -> None:
    """What a task uses was counted for each row of it, and the row then lost in the rounds."""
    OneAtATime(100_000).load(engine)
    loops = loops_by_path(engine)
    assert loops["Index Scan ix_task_limited"] > 10_000
    assert loops["Index Only Scan ix_task_instance_active_task"] < 0.6 * loops["Index Scan ix_task_limited"]


@pytest.mark.parametrize("engine_name", EVERY_POSTGRESQL)
def test_a_run_is_looked_up_once_for_all_lanes(engine: sa.Engine) -> None:
    """It was looked up for each lane that a hop met it in: 5,000 times here, for 80 runs."""
    Cross(20_000).load(engine)
    assert loops_by_path(engine)["Index Scan pk_dag_run"] < 1_000


@pytest.mark.parametrize("engine_name", EVERY_POSTGRESQL)
def test_no_count_of_active_rows_can_be_taken_to_the_index_of_another(engine: sa.Engine) -> None:
    """Where ANALYZE had met no active row, the three looked alike, and a look-up read all active rows."""
    Uniform(2_000).load(engine)
    with engine.connect() as connection:
        used = counting_indexes(connection)
        assert len(used) == 3
        for index in used:
            connection.exec_driver_sql(f"DROP INDEX {index}")
            assert counting_indexes(connection) == Counter({name: n for name, n in used.items() if name != index})
            connection.rollback()


def counting_indexes(connection: sa.Connection) -> Counter[str]:
    return Counter(re.findall(r"(?:using|Scan on) (ix_task_instance_active\w*)", plan(connection)))
