"""The dags of a trigger scenario as ``selectq.define`` takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from selectq import dags
from selectq.dag_checks import check_parts
from selectq.errors import InvalidDagError
from selectq.scenario.fields import Place
from selectq.scenario.trigger_model import TriggerTask


def definitions(top: Place, raw: Mapping[str, Any]) -> tuple[dags.Dag, ...]:
    """One per dag of the scenario.

    Raises:
        ScenarioError: tasks that make no dag, such as a cycle.
    """
    found = []
    for dag in raw["dags"]:
        tasks = [task for task in raw["tasks"] if task.dag_id == dag.dag_id]
        groups = dict.fromkeys(task.mapped_group for task in tasks if task.mapped_group is not None)
        made = dags.Dag(
            dag.dag_id,
            tasks=[task_of(task, tasks) for task in tasks],
            groups=[dags.Group(name, is_mapped=True) for name in groups],
            max_active_tasks=dag.max_active_tasks,
            is_paused=dag.is_paused,
        )
        try:
            check_parts(made)
        except InvalidDagError as error:
            raise top.field("tasks").wrong("tasks that make a dag", f"a mistake: {error}") from error
        found.append(made)
    return tuple(found)


def task_of(task: TriggerTask, tasks: Sequence[TriggerTask]) -> dags.Task:
    return dags.Task(
        task.task_id,
        upstream=task.upstream,
        trigger_rule=task.trigger_rule,
        group=task.mapped_group,
        is_mapped=task.is_mapped and maps_by_itself(task, tasks),
        is_setup=task.is_setup,
        is_teardown=task.is_teardown,
        retries=task.retries,
        max_active_tis_per_dag=task.max_active_tis_per_dag,
        max_active_tis_per_dagrun=task.max_active_tis_per_dagrun,
    )


def maps_by_itself(task: TriggerTask, tasks: Sequence[TriggerTask]) -> bool:
    """A task in a group is as long as the group; one that is longer is expanded once more inside of it."""
    if task.mapped_group is None:
        return True
    length = group_length(task, tasks)
    return task.expand_length is not None and length is not None and task.expand_length > length


def group_length(task: TriggerTask, tasks: Sequence[TriggerTask]) -> int | None:
    lengths = [
        other.expand_length
        for other in tasks
        if (other.dag_id, other.mapped_group) == (task.dag_id, task.mapped_group) and other.expand_length is not None
    ]
    return min(lengths, default=None)


def sizes(top: Place, tasks: Sequence[TriggerTask]) -> dict[tuple[str, str], int]:
    """(dag_id, mapped task or group) -> its instances, where they are known.

    Raises:
        ScenarioError: a task in a group is no multiple of the group's length.
    """
    found: dict[tuple[str, str], int] = {}
    for index, task in enumerate(tasks):
        length = task.expand_length
        if task.mapped_group is not None:
            around = group_length(task, tasks)
            if around is not None:
                found[task.dag_id, task.mapped_group] = around
            if length is not None and around is not None and length != around and (not around or length % around):
                place = top.field("tasks").item(index).field("expand_length")
                raise place.wrong(f"a multiple of {around}, as long as its group is", f"the number {length}")
        if length is not None and maps_by_itself(task, tasks):
            found[task.dag_id, task.task_id] = length
    return found
