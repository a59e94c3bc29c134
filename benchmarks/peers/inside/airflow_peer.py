"""Runs in Airflow's environment: its database, its dags, and what its scheduler asks."""

from __future__ import annotations

import importlib.metadata
import time
from typing import Any

import sqlalchemy as sa
from airflow_dags import as_dag
from airflow_rules import schedulable
from counted import Counted
from serve import serve


class Airflow:
    """Handlers of the requests; a scheduler is made at the first pass."""

    def __init__(self) -> None:
        self.runner: Any = None
        self.bag: Any = None
        self.counted: Counted | None = None
        self.started: list[Any] = []

    def version(self) -> str:
        return importlib.metadata.version("apache-airflow-core")

    def migrate(self) -> None:
        from airflow.utils.db import initdb

        initdb()

    def write_dags(self, bundle: str, dags: list[dict[str, Any]]) -> None:
        """As its dag processor does: the dags' rows, and the serialised dags that its limits are read from."""
        from airflow.models.dagbundle import DagBundleModel
        from airflow.models.serialized_dag import SerializedDagModel
        from airflow.serialization.definitions.dag import SerializedDAG
        from airflow.serialization.serialized_objects import LazyDeserializedDAG
        from airflow.utils.session import create_session

        made = [as_dag(**dag) for dag in dags]
        with create_session() as session:
            if session.get(DagBundleModel, bundle) is None:
                session.add(DagBundleModel(name=bundle))
                session.flush()
            SerializedDAG.bulk_write_to_db(bundle, "1", made, session=session)
            for dag in made:
                SerializedDagModel.write_dag(LazyDeserializedDAG.from_dag(dag), bundle, "1", session=session)

    def start_pass(self, max_tis: int, commit: bool) -> dict[str, Any]:
        """One call of the scheduler's own method in a session of its own: committed, or rolled back.

        ``ms`` is from the call to its return, without begin, commit and rollback.
        """
        from airflow.utils.session import create_session

        runner, counted = self._scheduler()
        with create_session(scoped=False) as session:
            session.connection()
            counted.start()
            before = time.perf_counter()
            queued = runner._executable_task_instances_to_queued(max_tis, session)
            ms = 1000 * (time.perf_counter() - before)
            counted.on = False
            keys = [[ti.dag_id, ti.run_id, ti.task_id, ti.map_index] for ti in queued]
            self.started = [ti.id for ti in queued] if commit else []
            if commit:
                session.commit()
            else:
                session.rollback()
        return {"ms": ms, "keys": keys, "statements": counted.statements, "rows": counted.rows}

    def decide(self, runs: list[list[str]]) -> dict[str, Any]:
        """What may be scheduled in each of these runs, by its own trigger rules; changes nothing."""
        from airflow.models.dagbag import DBDagBag

        if self.bag is None:
            self.bag = DBDagBag()
        return schedulable(self._counted(), self.bag, runs)

    def finish(self) -> None:
        """What the last committed pass has started is done."""
        from airflow.models.taskinstance import TaskInstance
        from airflow.utils.session import create_session

        with create_session() as session:
            done = sa.update(TaskInstance).where(TaskInstance.id.in_(self.started)).values(state="success")
            session.execute(done.execution_options(synchronize_session=False))

    def _counted(self) -> Counted:
        from airflow import settings

        if self.counted is None:
            self.counted = Counted(settings.engine)
        return self.counted

    def _scheduler(self) -> tuple[Any, Counted]:
        if self.runner is None:
            from airflow.executors.base_executor import BaseExecutor
            from airflow.executors.executor_utils import ExecutorName
            from airflow.jobs.job import Job
            from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
            from airflow.utils.session import create_session

            class NoExecutor(BaseExecutor):
                """Takes any number of task instances and does nothing with them."""

                name = ExecutorName(module_path="none.NoExecutor", alias="none")

            with create_session() as session:
                job = Job(job_type="SchedulerJob")
                session.add(job)
                session.flush()
                session.expunge(job)
            self.runner = SchedulerJobRunner(job=job, executors=[NoExecutor(parallelism=10**9)])
        return self.runner, self._counted()


if __name__ == "__main__":
    airflow = Airflow()
    serve(
        {
            "version": airflow.version,
            "migrate": airflow.migrate,
            "write_dags": airflow.write_dags,
            "pass": airflow.start_pass,
            "finish": airflow.finish,
            "decide": airflow.decide,
        }
    )
