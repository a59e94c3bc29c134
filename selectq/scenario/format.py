"""Scenario files: those of kind ``select``, and where the other kinds are read.

Fields that the tables themselves have a neutral default for may be left out (``is_paused``, ``include_deferred``, the
limits of tasks, ``upstream``, ``trigger_rule``, ``retries``, ``run_type``), and so may the texts for people; what the
case is about may not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from selectq import parameters, schema
from selectq.rows import Key
from selectq.scenario import fields as f
from selectq.scenario import filequeue_format
from selectq.scenario.fields import Field, Place
from selectq.scenario.filequeue_model import QueueScenario
from selectq.scenario.key_bytes import check_key_bytes
from selectq.scenario.model import Dag, Expectation, Group, Instances, Pool, Run, Scenario, Step, Task
from selectq.scenario.references import check_references
from selectq.scenario.yaml_file import parse_yaml, read_yaml

SUPPORTED_KINDS = ("select", filequeue_format.KIND)
KINDS = ("select", "trigger", "state", "filequeue")
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
MOST_ALIKE = 1_000_000
"""Most rows that one ``count`` may stand for."""


def read_scenario_file(path: Path | str) -> Scenario | QueueScenario:
    """Read and check one scenario file.

    Raises:
        ScenarioError: anything is wrong with it; names the file, the field, what was expected and what was found. Kinds
            that are known but not supported yet are named as such.
    """
    return build(str(path), read_yaml(Path(path)))


def parse_scenario(content: str, name: str) -> Scenario | QueueScenario:
    """As ``read_scenario_file``, from text; ``name`` stands for the file in errors."""
    return build(name, parse_yaml(content, name))


def build(file: str, value: Any) -> Scenario | QueueScenario:
    top = Place(file)
    if not isinstance(value, dict):
        raise top.wrong("a mapping with the fields id, kind, ...", f.describe(value))
    if "kind" not in value:
        raise top.field("kind").wrong(f"one of {', '.join(KINDS)}", "that it is missing")
    kind = f.one_of(*KINDS)(top.field("kind"), value["kind"])
    if kind not in SUPPORTED_KINDS:
        raise top.field("kind").wrong(" or ".join(SUPPORTED_KINDS), f"{kind}, which is not supported yet")
    if kind == filequeue_format.KIND:
        return filequeue_format.read(top, value)
    scenario: Scenario = read_scenario(top, value)
    check_references(scenario, top)
    return scenario


def make_key(dag_id: str, run_id: str, task_id: str, map_index: int) -> Key:
    return (dag_id, run_id, task_id, map_index)


def make_change(state: str | None, **key: Any) -> tuple[Key, str | None]:
    return (make_key(**key), state)


def make_blocked(by: str, **key: Any) -> tuple[Key, str]:
    return (make_key(**key), by)


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


def read_instances(place: Place, value: object) -> Instances:
    raw = read_instance_fields(place, value)
    check_key_bytes(place, {name: raw[name] for name in ("dag_id", "run_id", "task_id", "pool")})
    map_index, count = raw.pop("map_index"), raw.pop("count")
    if count is None:
        return Instances(first=-1 if map_index is None else map_index, count=1, **raw)
    if map_index is not None:
        raise place.wrong("map_index or count", "both")
    return Instances(first=0, count=count, **raw)


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


def first_part(item: tuple[Any, ...]) -> object:
    return item[0]


identifier = f.text(schema.ID_LENGTH)
pool_name = f.text(schema.POOL_LENGTH)
state = f.nullable(f.one_of(*schema.TI_STATES))
limit = f.nullable(f.integer())
not_negative = f.integer(0)
positive = f.integer(1)
max_tis = f.integer(1, parameters.LARGEST)

TASK_INSTANCE = {"dag_id": Field(identifier), "run_id": Field(identifier), "task_id": Field(identifier)}
KEY = {**TASK_INSTANCE, "map_index": Field(f.integer(-1), -1)}
GROUP = {"dag_id": Field(identifier), "run_id": Field(identifier, None), "task_id": Field(identifier, None)}
COUNT = {"count": Field(not_negative)}
BY = {"by": Field(f.one_of(*REASONS))}

read_key = f.mapping(KEY, make_key)
read_instance_fields = f.mapping(
    {
        **TASK_INSTANCE,
        "map_index": Field(f.integer(-1), None),
        "count": Field(f.integer(1, MOST_ALIKE), None),
        "state": Field(state),
        "pool": Field(pool_name, "default_pool"),
        "pool_slots": Field(positive, 1),
        "priority_weight": Field(f.integer(), 1),
        "try_number": Field(not_negative, 1),
    }
)
read_expectation_fields = f.mapping(
    {
        "selected": Field(f.distinct(read_key), None),
        "selected_counts": Field(f.distinct(f.mapping({**GROUP, **COUNT}, make_count), first_part), None),
        "blocked": Field(f.distinct(f.mapping({**KEY, **BY}, make_blocked), first_part), None),
        "blocked_counts": Field(f.distinct(f.mapping({**GROUP, **COUNT, **BY}, make_blocked_count), first_part), None),
    }
)
read_pool = f.mapping(
    {"pool": Field(pool_name), "slots": Field(f.integer(-1)), "include_deferred": Field(f.boolean, False)}, Pool
)
read_dag = f.mapping(
    {"dag_id": Field(identifier), "max_active_tasks": Field(f.integer()), "is_paused": Field(f.boolean, False)}, Dag
)
read_task = f.mapping(
    {
        "dag_id": Field(identifier),
        "task_id": Field(identifier),
        "max_active_tis_per_dag": Field(limit, None),
        "max_active_tis_per_dagrun": Field(limit, None),
        "upstream": Field(f.distinct(identifier), ()),
        "trigger_rule": Field(f.one_of(*schema.TRIGGER_RULES), "all_success"),
        "retries": Field(not_negative, 0),
    },
    Task,
)
read_run = f.mapping(
    {
        "dag_id": Field(identifier),
        "run_id": Field(identifier),
        "state": Field(f.one_of(*schema.RUN_STATES)),
        "run_type": Field(f.one_of(*schema.RUN_TYPES), "scheduled"),
        "logical_date": Field(f.nullable(f.point_in_time)),
    },
    Run,
)
read_step = f.mapping(
    {
        "note": Field(f.text(), None),
        "finish": Field(f.distinct(read_key), ()),
        "set": Field(f.distinct(f.mapping({**KEY, "state": Field(state)}, make_change), first_part), ()),
        "max_tis": Field(max_tis, None),
        "expect": Field(read_expectation),
    }
)
read_scenario = f.mapping(
    {
        "id": Field(identifier),
        "kind": Field(f.one_of(*KINDS)),
        "title": Field(f.text(), ""),
        "why": Field(f.text(), ""),
        "source": Field(f.text(), ""),
        "also": Field(f.list_of(f.text()), ()),
        "question": Field(f.text(), None),
        "max_tis": Field(max_tis),
        "pools": Field(f.distinct(read_pool, lambda pool: pool.pool)),
        "dags": Field(f.distinct(read_dag, lambda dag: dag.dag_id)),
        "tasks": Field(f.distinct(read_task, lambda task: (task.dag_id, task.task_id))),
        "dag_runs": Field(f.distinct(read_run, lambda run: (run.dag_id, run.run_id))),
        "task_instances": Field(f.list_of(read_instances)),
        "expect": Field(read_expectation),
        "then": Field(f.list_of(read_step), ()),
    },
    make_scenario,
)
