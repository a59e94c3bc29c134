"""Dags that can't be: each error names the dag, the task or group, the field and the fix."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

from selectq.dags import Dag, Group, Task
from selectq.errors import InvalidDagError
from selectq.schema import ID_LENGTH, KEY_BYTES, POOL_LENGTH, TRIGGER_RULES

INT32 = 2**31 - 1

Wrong = Callable[[str, str], InvalidDagError]
"""Makes the error of one task or group from a field and a problem."""


def check_dag(dag: Dag) -> None:
    """Refuse a dag that can't be defined.

    Raises:
        InvalidDagError: an id or number that the tables can't hold, an id twice, an unknown name, rule or group, a
            cycle, a teardown without a setup among its upstreams.
    """
    check_parts(dag)
    for task in dag.tasks:
        setups = {other.task_id for other in dag.tasks if other.is_setup}
        if task.is_teardown and not setups.intersection(task.upstream):
            raise wrong_in(dag, "task", task.task_id)(
                "upstream", "a teardown needs a setup (is_setup) among its upstreams"
            )


def check_parts(dag: Dag) -> None:
    """All of ``check_dag`` but that teardowns need setups."""
    check_id(lambda field, problem: InvalidDagError(f"{field}: {problem}"), "dag_id", dag.dag_id)
    check_number(wrong_in(dag), "max_active_tasks", dag.max_active_tasks, -INT32 - 1)
    check_flags(wrong_in(dag), dag, ("is_paused",), or_none=True)
    check_ids(dag)
    tasks = [task.task_id for task in dag.tasks]
    groups = [group.group_id for group in dag.groups]
    for task in dag.tasks:
        check_task(wrong_in(dag, "task", task.task_id), task, tasks, groups)
        check_key_bytes(wrong_in(dag, "task", task.task_id), dag.dag_id, task)
    for group in dag.groups:
        check_group(wrong_in(dag, "group", group.group_id), group, tasks, groups)
    check_cycles(dag, "task", "upstream", {task.task_id: task.upstream for task in dag.tasks})
    check_cycles(dag, "group", "parent", {g.group_id: [g.parent] if g.parent else [] for g in dag.groups})


def wrong_in(dag: Dag, kind: str = "", name: str = "") -> Wrong:
    where = f"dag {dag.dag_id!r}, {kind} {name!r}" if kind else f"dag {dag.dag_id!r}"
    return lambda field, problem: InvalidDagError(f"{where}: {field}: {problem}")


def check_id(wrong: Wrong, field: str, value: object, length: int = ID_LENGTH) -> None:
    if not isinstance(value, str) or not 0 < len(value) <= length or "\0" in value:
        raise wrong(field, f"must be text of 1 to {length} characters, no NUL, not {value!r:.80}")


def check_number(wrong: Wrong, field: str, value: object, lowest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= INT32:
        raise wrong(field, f"must be a whole number from {lowest} to {INT32}, not {value!r:.80}")


def check_flags(wrong: Wrong, item: object, fields: Iterable[str], or_none: bool = False) -> None:
    for field in fields:
        value = getattr(item, field)
        if not isinstance(value, bool) and not (or_none and value is None):
            raise wrong(field, f"must be True or False, not {value!r:.80}")


def check_ids(dag: Dag) -> None:
    seen: dict[str, str] = {}
    names = [("task", task.task_id) for task in dag.tasks] + [("group", group.group_id) for group in dag.groups]
    for kind, name in names:
        check_id(wrong_in(dag, kind, name), f"{kind}_id", name)
        if name in seen:
            raise wrong_in(dag, kind, name)(f"{kind}_id", f"there is a {seen[name]} of that id already; rename one")
        seen[name] = kind


def check_task(wrong: Wrong, task: Task, tasks: Sequence[str], groups: Sequence[str]) -> None:
    check_names(wrong, "upstream", task.upstream, tasks)
    if task.task_id in task.upstream:
        raise wrong("upstream", "names the task itself; remove it")
    if task.trigger_rule not in TRIGGER_RULES:
        near = closest(task.trigger_rule, TRIGGER_RULES)
        raise wrong("trigger_rule", f"unknown rule {task.trigger_rule!r:.80}{near}")
    if task.group is not None:
        check_names(wrong, "group", [task.group], groups)
    check_names(wrong, "expands_over", task.expands_over, task.upstream)
    flags = ("is_mapped", "is_setup", "is_teardown", "depends_on_past", "wait_for_downstream")
    check_flags(wrong, task, (*flags, "ignore_first_depends_on_past"))
    if task.expands_over and not task.is_mapped:
        raise wrong("expands_over", "only a mapped task is expanded; set is_mapped")
    if task.is_setup and task.is_teardown:
        raise wrong("is_teardown", "a task is a setup or a teardown, not both")
    check_id(wrong, "pool", task.pool, POOL_LENGTH)
    if task.executor is not None:
        check_id(wrong, "executor", task.executor)
    check_number(wrong, "retries", task.retries, 0)
    check_number(wrong, "pool_slots", task.pool_slots, 1)
    check_number(wrong, "priority_weight", task.priority_weight, -INT32 - 1)
    for field in ("max_active_tis_per_dag", "max_active_tis_per_dagrun"):
        if getattr(task, field) is not None:
            check_number(wrong, field, getattr(task, field), -INT32 - 1)


def check_group(wrong: Wrong, group: Group, tasks: Sequence[str], groups: Sequence[str]) -> None:
    if group.parent is not None:
        check_names(wrong, "parent", [group.parent], groups)
    check_flags(wrong, group, ("is_mapped",))
    check_names(wrong, "expands_over", group.expands_over, tasks)
    if group.expands_over and not group.is_mapped:
        raise wrong("expands_over", "only a mapped group is expanded; set is_mapped")


def check_names(wrong: Wrong, field: str, names: object, known: Sequence[str]) -> None:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise wrong(field, f"must be a list of ids, not {names!r:.80}")
    for name in names:
        if name not in known:
            raise wrong(field, f"unknown id {name!r:.80}{closest(name, known)}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise wrong(field, f"{twice!r} stands there twice")


def check_key_bytes(wrong: Wrong, dag_id: str, task: Task) -> None:
    """Edges are keyed by three ids, and PostgreSQL refuses index rows that are too long."""
    for upstream in task.upstream:
        total = sum(len(part.encode()) for part in (dag_id, task.task_id, upstream))
        if total > KEY_BYTES:
            raise wrong("upstream", f"dag_id, task_id and {upstream!r:.40} take {total} bytes, more than {KEY_BYTES}")


def check_cycles(dag: Dag, kind: str, field: str, edges: dict[str, Sequence[str]]) -> None:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        # graphlib goes from a task to what depends on it.
        cycle: list[str] = error.args[1]
        raise wrong_in(dag, kind, cycle[0])(field, f"a cycle: {' -> '.join(cycle)}; remove one of these") from None


def closest(name: object, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name[:250], known, n=1) if isinstance(name, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""
