"""Runs in Airflow's environment: its database, its dags, its own selection of executable task instances."""

from __future__ import annotations

import importlib.metadata
import time
from typing import Any

import sqlalchemy as sa
from serve import serve


class Counted:
    """Statements that Airflow sends and the rows that come back, while ``on``."""

    def __init__(self, engine: sa.Engine) -> None:
        self.statements = self.rows = 0
        self.on = False
        sa.event.listen(engine, "after_cursor_execute", self._after)

    def _after(self, connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        if self.on:
            self.statements += 1
            self.rows += max(cursor.rowcount, 0) if cursor.description is not None else 0

    def start(self) -> None:
        self.statements, self.rows, self.on = 0, 0, True


class Airflow:
    """Handlers of the requests; a scheduler is made at the first pass."""

    def __init__(self) -> None:
        self.runner: Any = None
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

    def finish(self) -> None:
        """What the last committed pass has started is done."""
        from airflow.models.taskinstance import TaskInstance
        from airflow.utils.session import create_session

        with create_session() as session:
            done = sa.update(TaskInstance).where(TaskInstance.id.in_(self.started)).values(state="success")
            session.execute(done.execution_options(synchronize_session=False))

    def _scheduler(self) -> tuple[Any, Counted]:
        if self.counted is None:
            from airflow import settings
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
            self.counted = Counted(settings.engine)
        return self.runner, self.counted


def as_dag(dag_id: str, max_active_tasks: int, tasks: list[dict[str, Any]]) -> Any:
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG

    with DAG(dag_id, schedule=None, max_active_tasks=max_active_tasks, is_paused_upon_creation=False) as dag:
        for task in tasks:
            EmptyOperator(weight_rule="absolute", **task)
    return dag


if __name__ == "__main__":
    airflow = Airflow()
    serve(
        {
            "version": airflow.version,
            "migrate": airflow.migrate,
            "write_dags": airflow.write_dags,
            "pass": airflow.start_pass,
            "finish": airflow.finish,
        }
    )
