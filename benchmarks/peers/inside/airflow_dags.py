"""Dags of Airflow's own kind, from what selectq's tables hold."""

from __future__ import annotations

from typing import Any


def as_dag(dag_id: str, max_active_tasks: int, tasks: list[dict[str, Any]]) -> Any:
    """A dag of tasks that do nothing.

    Args:
        tasks: arguments of an operator each, and ``upstream``: ids of tasks; ``length``: of a mapped one.
    """
    from airflow.sdk import DAG

    with DAG(dag_id, schedule=None, max_active_tasks=max_active_tasks, is_paused_upon_creation=False) as dag:
        made = {task["task_id"]: as_operator(**task) for task in tasks}
        for task in tasks:
            made[task["task_id"]].set_upstream([made[name] for name in task.get("upstream", [])])
    return dag


def as_operator(upstream: object = None, length: int | None = None, **options: Any) -> Any:
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.providers.standard.operators.empty import EmptyOperator

    options["weight_rule"] = "absolute"
    if length is None:
        return EmptyOperator(**options)
    # What an operator that does nothing takes can't be mapped.
    return BashOperator.partial(**options).expand(bash_command=["true"] * length)
