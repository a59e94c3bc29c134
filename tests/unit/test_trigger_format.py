"""Scenario files of kind ``trigger``: what is read from a right one, and what is wrong with wrong ones."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from selectq import dags
from selectq.errors import ScenarioError
from selectq.scenario.format import parse_scenario
from selectq.scenario.trigger_model import TriggerScenario

ROW = {"dag_id": "a", "run_id": "r", "task_id": "inner", "map_index": 1}

SMALL: dict[str, Any] = {
    "id": "small",
    "kind": "trigger",
    "dags": [{"dag_id": "a", "max_active_tasks": 16}],
    "tasks": [
        {"dag_id": "a", "task_id": "list"},
        {"dag_id": "a", "task_id": "outer", "upstream": ["list"], "mapped_group": "g", "expand_length": 2},
        {"dag_id": "a", "task_id": "inner", "upstream": ["outer"], "mapped_group": "g", "expand_length": 6},
        {"dag_id": "a", "task_id": "unknown", "expand_length": None},
    ],
    "dag_runs": [{"dag_id": "a", "run_id": "r", "state": "running", "logical_date": None}],
    "task_instances": [{**ROW, "state": None}],
    "expect": {"decisions": [{**ROW, "decision": "wait"}]},
}


def parse(scenario: dict[str, Any]) -> TriggerScenario:
    parsed = parse_scenario(yaml.safe_dump(scenario, sort_keys=False), "small.yaml")
    assert isinstance(parsed, TriggerScenario)
    return parsed


def changed(**fields: Any) -> dict[str, Any]:
    return copy.deepcopy({**SMALL, **fields})


def with_task(number: int, **fields: Any) -> dict[str, Any]:
    scenario = changed()
    scenario["tasks"][number] |= fields
    return scenario


def test_a_right_file_becomes_dags_and_sizes() -> None:
    scenario = parse(SMALL)
    assert scenario.definitions == (
        dags.Dag(
            "a",
            tasks=[
                dags.Task("list"),
                dags.Task("outer", upstream=("list",), group="g"),
                dags.Task("inner", upstream=("outer",), group="g", is_mapped=True),
                dags.Task("unknown", is_mapped=True),
            ],
            groups=[dags.Group("g", is_mapped=True)],
            is_paused=False,
        ),
    )
    assert scenario.sizes == {("a", "g"): 2, ("a", "inner"): 6}
    assert scenario.steps[0].decisions == {("a", "r", "inner", 1): "wait"}


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        (with_task(2, expand_length=3), "tasks[2].expand_length: expected a multiple of 2, as long as its group is"),
        (with_task(0, upstream=["inner"]), "tasks: expected tasks that make a dag, found a mistake: dag 'a', task "),
        (with_task(0, is_setup=True, is_teardown=True), "tasks[0]: expected is_setup or is_teardown, found both"),
        (with_task(0, mapped_group="inner"), "there is a task of that id already; rename one"),
        (with_task(0, expand_length=-1), "tasks[0].expand_length: expected a whole number from 0 to 1000000"),
        (with_task(0, upstream=["x"]), "tasks: expected tasks that make a dag, found a mistake: dag 'a', task 'list'"),
        (changed(max_tis=1), "found the unknown field the text 'max_tis'"),
        (
            changed(expect={"decisions": [{**ROW, "map_index": 7, "decision": "run"}]}),
            "expect.decisions[0]: expected a row listed in task_instances, found 'a', 'r', 'inner', map_index 7",
        ),
        (
            changed(expect={"decisions": [{**ROW, "decision": "runs"}]}),
            "expect.decisions[0].decision: expected one of run, wait, skipped, upstream_failed, removed, found the "
            "text 'runs' (did you mean run?)",
        ),
        (changed(then=[{}]), "then[0].expect: expected this field, found that it is missing"),
    ],
)
def test_wrong_files(scenario: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(scenario)
    assert message in str(caught.value)
