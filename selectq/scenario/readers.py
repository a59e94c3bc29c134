"""What the kinds of scenarios have in common: dags, runs, task instances, keys, changes between steps."""

from __future__ import annotations

from typing import Any

from selectq import schema
from selectq.rows import Key
from selectq.scenario import fields as f
from selectq.scenario.fields import Field, Place
from selectq.scenario.key_bytes import check_key_bytes
from selectq.scenario.model import Dag, Instances, Pool, Run

KINDS = ("select", "trigger", "state", "filequeue")
MOST_ALIKE = 1_000_000
"""Most rows that one ``count`` may stand for."""


def make_key(dag_id: str, run_id: str, task_id: str, map_index: int) -> Key:
    return (dag_id, run_id, task_id, map_index)


def make_change(state: str | None, **key: Any) -> tuple[Key, str | None]:
    return (make_key(**key), state)


def first_part(item: tuple[Any, ...]) -> object:
    return item[0]


def read_instances(place: Place, value: object) -> Instances:
    raw = read_instance_fields(place, value)
    check_key_bytes(place, {name: raw[name] for name in ("dag_id", "run_id", "task_id", "pool")})
    map_index, count = raw.pop("map_index"), raw.pop("count")
    if count is None:
        return Instances(first=-1 if map_index is None else map_index, count=1, **raw)
    if map_index is not None:
        raise place.wrong("map_index or count", "both")
    return Instances(first=0, count=count, **raw)


identifier = f.text(schema.ID_LENGTH)
pool_name = f.text(schema.POOL_LENGTH)
state = f.nullable(f.one_of(*schema.TI_STATES))
limit = f.nullable(f.integer())
not_negative = f.integer(0)
positive = f.integer(1)

TASK_INSTANCE = {"dag_id": Field(identifier), "run_id": Field(identifier), "task_id": Field(identifier)}
KEY = {**TASK_INSTANCE, "map_index": Field(f.integer(-1), -1)}

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
read_pool = f.mapping(
    {"pool": Field(pool_name), "slots": Field(f.integer(-1)), "include_deferred": Field(f.boolean, False)}, Pool
)
read_dag = f.mapping(
    {"dag_id": Field(identifier), "max_active_tasks": Field(f.integer()), "is_paused": Field(f.boolean, False)}, Dag
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
FOR_PEOPLE = {
    "title": Field(f.text(), ""),
    "why": Field(f.text(), ""),
    "source": Field(f.text(), ""),
    "also": Field(f.list_of(f.text()), ()),
    "question": Field(f.text(), None),
}
CHANGES = {
    "note": Field(f.text(), None),
    "finish": Field(f.distinct(read_key), ()),
    "set": Field(f.distinct(f.mapping({**KEY, "state": Field(state)}, make_change), first_part), ()),
}
"""What may happen before a step."""
