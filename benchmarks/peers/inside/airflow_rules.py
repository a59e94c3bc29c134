"""Airflow's own evaluation of trigger rules: what its scheduler asks each running dag run for."""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa
from counted import Counted


def schedulable(counted: Counted, bag: Any, runs: list[list[str]]) -> dict[str, Any]:
    """``DagRun.task_instance_scheduling_decisions`` of each run in a session of its own, rolled back.

    ``ms`` is of these calls alone: the runs, and their dags in ``bag``, are in memory before.
    """
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    with create_session(scoped=False) as session:
        wanted = sa.tuple_(DagRun.dag_id, DagRun.run_id).in_([tuple(run) for run in runs])
        found = session.scalars(sa.select(DagRun).where(wanted)).unique().all()
        assert len(found) == len(runs), "a run is missing"
        for run in found:
            run.dag = bag.get_dag_for_run(dag_run=run, session=session)
        counted.start()
        before = time.perf_counter()
        ready = [ti for run in found for ti in run.task_instance_scheduling_decisions(session=session).schedulable_tis]
        ms = 1000 * (time.perf_counter() - before)
        counted.on = False
        keys = [[ti.dag_id, ti.run_id, ti.task_id, ti.map_index] for ti in ready]
        session.rollback()
    return {"ms": ms, "keys": keys, "statements": counted.statements, "rows": counted.rows}
