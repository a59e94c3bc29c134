"""Dags as plain objects: what ``selectq.define`` takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a dag.

    Args:
        task_id: at most 250 characters, unlike every other task and group of its dag.
        upstream: ids of its direct upstream tasks.
        trigger_rule: one of the thirteen names of Airflow, such as ``all_success``.
        group: id of the group that it is in.
        is_mapped: it is expanded into instances of its own, over something whose length is known only in a run.
        expands_over: ids of the upstream tasks that give that length; the task fails or is skipped with them.
        is_setup: its work is needed by what comes after it, up to its teardowns.
        is_teardown: it undoes the work of the setups among its upstreams, once all between them and it is finished.
        depends_on_past: it runs only if it succeeded or was skipped in the run before.
        wait_for_downstream: and its direct downstreams too; includes ``depends_on_past``.
        ignore_first_depends_on_past: it needs no run before if it is in none.
        retries: tries after the first.
        pool, pool_slots, priority_weight, executor: for new instances that ``SchedulerPass.expand`` makes.
        max_active_tis_per_dag, max_active_tis_per_dagrun: limits; None = no limit.
    """

    task_id: str
    upstream: Sequence[str] = ()
    trigger_rule: str = "all_success"
    group: str | None = None
    is_mapped: bool = False
    expands_over: Sequence[str] = ()
    is_setup: bool = False
    is_teardown: bool = False
    depends_on_past: bool = False
    wait_for_downstream: bool = False
    ignore_first_depends_on_past: bool = True
    retries: int = 0
    pool: str = "default_pool"
    pool_slots: int = 1
    priority_weight: int = 1
    executor: str | None = None
    max_active_tis_per_dag: int | None = None
    max_active_tis_per_dagrun: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A group of tasks.

    Args:
        group_id: at most 250 characters, unlike every other task and group of its dag.
        parent: id of the group that it is in.
        is_mapped: all in it is expanded together, index by index.
        expands_over: ids of the tasks that give its length; what is in it fails or is skipped with them.
    """

    group_id: str
    parent: str | None = None
    is_mapped: bool = False
    expands_over: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Dag:
    """A dag with its tasks and groups.

    Args:
        dag_id: at most 250 characters.
        tasks: in any order.
        groups: in any order.
        max_active_tasks: most task instances of a run that are queued or running at once.
        is_paused: None = as it is, and not paused if it is new.
    """

    dag_id: str
    tasks: Sequence[Task]
    groups: Sequence[Group] = ()
    max_active_tasks: int = 16
    is_paused: bool | None = None
