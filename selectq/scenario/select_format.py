"""Scenario files of kind ``select``: which fields there are, and how a file becomes a ``Scenario``.

Fields that the tables themselves have a neutral default for may be left out (``is_paused``, ``include_deferred``, the
limits of tasks, ``upstream``, ``trigger_rule``, ``retries``, ``run_type``), and so may the texts for people; what the
case is about may not.
"""

from __future__ import annotations

from typing import Any

from selectq import parameters, schema
from selectq.rows import Key
from selectq.scenario import fields as f
from selectq.scenario import readers as r
from selectq.scenario.fields import Field, Place
from selectq.scenario.model import Dag, Expectation, Group, Instances, Pool, Run, Scenario, Step, Task
from selectq.scenario.references import check_references

REASONS = (
    "pool",
    "no_pool",
    "max_active_tasks",
    "max_active_tis_per_dag",
    "max_active_tis_per_dagrun",
    "max_tis",
    "paused",
    "dag_run_state",
)


def build_select(top: Place, value: dict[str, Any]) -> Scenario:
    """The scenario that a mapping of kind ``select`` says.

    Raises:
        ScenarioError: anything is wrong with it.
    """
    scenario: Scenario = read_scenario(top, value)
    check_references(scenario, top)
    return scenario


def make_blocked(by: str, **key: Any) -> tuple[Key, str]:
    return (r.make_key(**key), by)


def make_count(count: int, **group: Any) -> tuple[Group, int]:
    return (Group(**group), count)


def make_blocked_count(count: int, by: str, **group: Any) -> tuple[tuple[Group, str], int]:
    return ((Group(**group), by), count)


def make_scenario(
    id: str,
    title: str,
    max_tis: int,
    expect: Expectation,
    then: tuple[dict[str, Any], ...],
    pools: tuple[Pool, ...],
    dags: tuple[Dag, ...],
    tasks: tuple[Task, ...],
    dag_runs: tuple[Run, ...],
    task_instances: tuple[Instances, ...],
    **_for_people: Any,
) -> Scenario:
    steps = [Step((), (), max_tis, expect)]
    for raw in then:
        max_tis = max_tis if raw["max_tis"] is None else raw["max_tis"]
        steps.append(Step(raw["finish"], raw["set"], max_tis, raw["expect"]))
    return Scenario(id, title, pools, dags, tasks, dag_runs, task_instances, tuple(steps))


def read_expectation(place: Place, value: object) -> Expectation:
    raw = read_expectation_fields(place, value)
    if (raw["selected"] is None) == (raw["selected_counts"] is None):
        raise place.wrong(
            "one of the fields selected, selected_counts", "none of them" if raw["selected"] is None else "both"
        )
    tables = ("selected_counts", "blocked", "blocked_counts")
    return Expectation(
        selected=raw["selected"], **{name: None if raw[name] is None else dict(raw[name]) for name in tables}
    )


max_tis = f.integer(1, parameters.LARGEST)

GROUP = {"dag_id": Field(r.identifier), "run_id": Field(r.identifier, None), "task_id": Field(r.identifier, None)}
COUNT = {"count": Field(r.not_negative)}
BY = {"by": Field(f.one_of(*REASONS))}

read_expectation_fields = f.mapping(
    {
        "selected": Field(f.distinct(r.read_key), None),
        "selected_counts": Field(f.distinct(f.mapping({**GROUP, **COUNT}, make_count), r.first_part), None),
        "blocked": Field(f.distinct(f.mapping({**r.KEY, **BY}, make_blocked), r.first_part), None),
        "blocked_counts": Field(
            f.distinct(f.mapping({**GROUP, **COUNT, **BY}, make_blocked_count), r.first_part), None
        ),
    }
)
read_task = f.mapping(
    {
        "dag_id": Field(r.identifier),
        "task_id": Field(r.identifier),
        "max_active_tis_per_dag": Field(r.limit, None),
        "max_active_tis_per_dagrun": Field(r.limit, None),
        "upstream": Field(f.distinct(r.identifier), ()),
        "trigger_rule": Field(f.one_of(*schema.TRIGGER_RULES), "all_success"),
        "retries": Field(r.not_negative, 0),
    },
    Task,
)
read_step = f.mapping(
    {
        **r.CHANGES,
        "max_tis": Field(max_tis, None),
        "expect": Field(read_expectation),
    }
)
read_scenario = f.mapping(
    {
        "id": Field(r.identifier),
        "kind": Field(f.one_of(*r.KINDS)),
        **r.FOR_PEOPLE,
        "max_tis": Field(max_tis),
        "pools": Field(f.distinct(r.read_pool, lambda pool: pool.pool)),
        "dags": Field(f.distinct(r.read_dag, lambda dag: dag.dag_id)),
        "tasks": Field(f.distinct(read_task, lambda task: (task.dag_id, task.task_id))),
        "dag_runs": Field(f.distinct(r.read_run, lambda run: (run.dag_id, run.run_id))),
        "task_instances": Field(f.list_of(r.read_instances)),
        "expect": Field(read_expectation),
        "then": Field(f.list_of(read_step), ()),
    },
    make_scenario,
)
