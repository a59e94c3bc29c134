"""Scenario files of kind ``trigger`` as worlds for the oracle; a reading of its own, as in ``tests.case_worlds``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from tests.case_worlds import CASES, key_of
from tests.oracle_trigger import Group, Key, Task, World


def trigger_cases() -> list[Path]:
    """All scenario files of kind ``trigger``."""
    return [path for path in sorted(CASES.glob("**/*.yaml")) if "\nkind: trigger\n" in path.read_text()]


def world_of(case: dict[str, Any]) -> World:
    tasks = {(row["dag_id"], row["task_id"]): task_of(row) for row in case["tasks"]}
    groups = {(row["dag_id"], row["mapped_group"]): Group() for row in case["tasks"] if row.get("mapped_group")}
    sizes = {}
    for run in case["dag_runs"]:
        for row in case["tasks"]:
            length = row.get("expand_length")
            if row["dag_id"] == run["dag_id"] and length is not None:
                sizes[row["dag_id"], run["run_id"], row.get("mapped_group") or row["task_id"]] = length
    dates = {(run["dag_id"], run["run_id"]): date_of(run["logical_date"]) for run in case["dag_runs"]}
    states = {key_of(row): row["state"] for row in case["task_instances"]}
    return World(tasks, states, groups, sizes, dates)


def date_of(written: datetime | str | None) -> datetime | None:
    """YAML reads a bare date as one, and leaves one in quotes as text."""
    return datetime.fromisoformat(written) if isinstance(written, str) else written


def task_of(row: dict[str, Any]) -> Task:
    group = row.get("mapped_group")
    return Task(
        upstream=tuple(row["upstream"]),
        rule=row["trigger_rule"],
        is_setup=row.get("is_setup", False),
        is_teardown=row.get("is_teardown", False),
        group=group,
        is_mapped="expand_length" in row and group is None,
    )


def expected_of(case: dict[str, Any]) -> dict[Key, str]:
    return {key_of(row): row["decision"] for row in case["expect"]["decisions"]}
