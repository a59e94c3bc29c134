"""Scenario files of kind ``trigger``: which fields there are, and how a file becomes a ``TriggerScenario``."""

from __future__ import annotations

from typing import Any

from selectq import schema
from selectq.rows import DECISIONS, Key
from selectq.scenario import fields as f
from selectq.scenario import readers as r
from selectq.scenario.fields import Field, Place
from selectq.scenario.model import Dag, Instances, Pool, Run
from selectq.scenario.references import check_trigger_references
from selectq.scenario.trigger_dags import definitions, sizes
from selectq.scenario.trigger_model import TriggerScenario, TriggerStep, TriggerTask


def build_trigger(top: Place, value: dict[str, Any]) -> TriggerScenario:
    """The scenario that a mapping of kind ``trigger`` says.

    Raises:
        ScenarioError: anything is wrong with it, cycles and groups of unequal lengths included.
    """
    raw = read_scenario(top, value)
    scenario = TriggerScenario(**raw, definitions=definitions(top, raw), sizes=sizes(top, raw["tasks"]))
    check_trigger_references(scenario, top)
    return scenario


def read_task(place: Place, value: object) -> TriggerTask:
    """A task with the field ``expand_length`` is mapped even if its length is not known."""
    raw = read_task_fields(place, value)
    if raw["is_setup"] and raw["is_teardown"]:
        raise place.wrong("is_setup or is_teardown", "both")
    return TriggerTask(**raw, is_mapped=isinstance(value, dict) and "expand_length" in value)


def make_decision(decision: str, **key: Any) -> tuple[Key, str]:
    return (r.make_key(**key), decision)


def make_scenario(
    id: str,
    title: str,
    expect: dict[Key, str],
    then: tuple[TriggerStep, ...],
    pools: tuple[Pool, ...],
    dags: tuple[Dag, ...],
    tasks: tuple[TriggerTask, ...],
    dag_runs: tuple[Run, ...],
    task_instances: tuple[Instances, ...],
    **_for_people: Any,
) -> dict[str, Any]:
    return {
        "id": id,
        "title": title,
        "pools": pools,
        "dags": dags,
        "tasks": tasks,
        "dag_runs": dag_runs,
        "task_instances": task_instances,
        "steps": (TriggerStep((), (), expect), *then),
    }


def make_step(
    finish: tuple[Key, ...], set: tuple[tuple[Key, str | None], ...], expect: dict[Key, str], note: str | None
) -> TriggerStep:
    return TriggerStep(finish, set, expect)


def make_expectation(decisions: tuple[tuple[Key, str], ...]) -> dict[Key, str]:
    return dict(decisions)


read_decision = f.mapping({**r.KEY, "decision": Field(f.one_of(*DECISIONS))}, make_decision)
read_expectation = f.mapping({"decisions": Field(f.distinct(read_decision, r.first_part))}, make_expectation)
read_task_fields = f.mapping(
    {
        "dag_id": Field(r.identifier),
        "task_id": Field(r.identifier),
        "upstream": Field(f.distinct(r.identifier), ()),
        "trigger_rule": Field(f.one_of(*schema.TRIGGER_RULES), "all_success"),
        "retries": Field(r.not_negative, 0),
        "is_setup": Field(f.boolean, False),
        "is_teardown": Field(f.boolean, False),
        "max_active_tis_per_dag": Field(r.limit, None),
        "max_active_tis_per_dagrun": Field(r.limit, None),
        "expand_length": Field(f.nullable(f.integer(0, r.MOST_ALIKE)), None),
        "mapped_group": Field(f.nullable(r.identifier), None),
    }
)
read_scenario = f.mapping(
    {
        "id": Field(r.identifier),
        "kind": Field(f.one_of(*r.KINDS)),
        **r.FOR_PEOPLE,
        "pools": Field(f.distinct(r.read_pool, lambda pool: pool.pool), ()),
        "dags": Field(f.distinct(r.read_dag, lambda dag: dag.dag_id)),
        "tasks": Field(f.distinct(read_task, lambda task: (task.dag_id, task.task_id))),
        "dag_runs": Field(f.distinct(r.read_run, lambda run: (run.dag_id, run.run_id))),
        "task_instances": Field(f.list_of(r.read_instances)),
        "expect": Field(read_expectation),
        "then": Field(f.list_of(f.mapping({**r.CHANGES, "expect": Field(read_expectation)}, make_step)), ()),
    },
    make_scenario,
)
