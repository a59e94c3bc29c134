"""Scenario files as worlds for the oracle; a reading of its own, so that selectq's reader is tested and not trusted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from tests.oracle import Dag, Instance, Key, Pool, Run, Task, World

CASES = Path(__file__).parent / "cases"


def select_cases() -> list[Path]:
    """All scenario files of kind ``select``."""
    return cases_of("select")


def cases_of(kind: str) -> list[Path]:
    return [path for path in sorted(CASES.glob("**/*.yaml")) if f"\nkind: {kind}\n" in path.read_text()]


def world_of(case: dict[str, Any]) -> World:
    return World(
        pools={row["pool"]: Pool(row["slots"], row["include_deferred"]) for row in case["pools"]},
        dags={row["dag_id"]: Dag(row["max_active_tasks"], row["is_paused"]) for row in case["dags"]},
        tasks={
            (row["dag_id"], row["task_id"]): Task(row["max_active_tis_per_dag"], row["max_active_tis_per_dagrun"])
            for row in case["tasks"]
        },
        runs={(row["dag_id"], row["run_id"]): Run(row["state"], row["logical_date"]) for row in case["dag_runs"]},
        instances=dict(instances_of(case)),
        max_tis=case["max_tis"],
    )


def instances_of(case: dict[str, Any]) -> Iterator[tuple[Key, Instance]]:
    for row in case["task_instances"]:
        indexes = range(row["count"]) if "count" in row else [row.get("map_index", -1)]
        for index in indexes:
            yield (
                (row["dag_id"], row["run_id"], row["task_id"], index),
                Instance(row["state"], row["pool"], row["pool_slots"], row["priority_weight"]),
            )


def key_of(row: dict[str, Any]) -> Key:
    return (row["dag_id"], row["run_id"], row["task_id"], row.get("map_index", -1))


def before_step(world: World, step: dict[str, Any]) -> World:
    """The world as an entry of ``then`` finds it."""
    states = {key_of(row): "success" for row in step.get("finish", [])}
    states |= {key_of(row): row["state"] for row in step.get("set", [])}
    return replace(world.with_states(states), max_tis=step.get("max_tis", world.max_tis))


def load_case(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return case
