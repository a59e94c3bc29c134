"""What Airflow decided, as ``record.py`` wrote it, against selectq on a server, row by row.

    python -m tests.compare_airflow.compare FILE...

Differences that ``docs/decisions`` explains are counted by kind; any other ends with exit code 1.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
import sqlalchemy as sa

from selectq.scratch import scratch_database
from selectq.upstream import decide
from tests.oracle_trigger import Group, Key, Task, World
from tests.servers.names import EVERY_SERVER
from tests.servers.running import RunningServers
from tests.trigger_tables import store

WORLDS_AT_ONCE = 200
MOST_NAMED = 20


def world_of(raw: dict[str, Any], dag_id: str) -> tuple[World, dict[Key, str]]:
    """One recorded world as dag ``dag_id`` with one run, and what Airflow decided."""
    tasks = {
        (dag_id, name): Task(
            upstream=tuple(task["upstream"]),
            rule=task["rule"],
            is_setup=task["is_setup"],
            is_teardown=task["is_teardown"],
            group=task["group"],
            is_mapped=task["is_mapped"],
            expands_over=tuple(task["expands_over"]),
        )
        for name, task in raw["tasks"].items()
    }
    groups = {(dag_id, name): Group(expands_over=tuple(g["expands_over"])) for name, g in raw["groups"].items()}
    sizes = {(dag_id, "r", node): size for node, size in raw["sizes"].items()}
    states = {(dag_id, "r", name, index): state for name, index, state in raw["states"]}
    decisions = {(dag_id, "r", name, index): decision for name, index, decision in raw["decisions"]}
    return World(tasks, states, groups, sizes, {(dag_id, "r"): None}), decisions


def joined(worlds: Iterable[World]) -> World:
    """Many worlds, of dags of their own, as one."""
    parts = list(worlds)

    def all_of(field: str) -> dict[Any, Any]:
        return {key: value for world in parts for key, value in getattr(world, field).items()}

    return World(*(all_of(field) for field in ("tasks", "states", "groups", "sizes", "dates")))


def explained(world: World, key: Key) -> str | None:
    """Why selectq decides otherwise on purpose; the pages of ``docs/decisions`` say more."""
    dag_id, run_id, task_id, index = key
    task = world.tasks[dag_id, task_id]
    node = task_id if task.is_mapped else task.group
    if index < 0 and node is not None and world.sizes.get((dag_id, run_id, node)):
        return "a placeholder of known length waits to be expanded"
    return None


def differences(
    engine: sa.Engine, recorded: Iterable[dict[str, Any]]
) -> Iterator[tuple[Key, str, str | None, str | None, int]]:
    """(key, Airflow's decision, selectq's, explanation, place of the world) of rows that differ, then of none."""
    numbered = enumerate(recorded)
    while chunk := list(islice(numbered, WORLDS_AT_ONCE)):
        found = {f"d{number}": world_of(raw, f"d{number}") for number, raw in chunk}
        world = joined(world for world, _ in found.values())
        with engine.connect() as connection:
            store(connection, world)
            ours = {row.key: row.decision for row in decide(connection, list(world.dates))}
            connection.rollback()
        for dag_id, (_, decisions) in found.items():
            for key, theirs in decisions.items():
                if ours.get(key) != theirs:
                    yield key, theirs, ours.get(key), explained(world, key), int(dag_id[1:])


@click.command()
@click.option("--engine", "engines", multiple=True, type=click.Choice(EVERY_SERVER), help="Only this one.")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
def main(engines: tuple[str, ...], files: tuple[Path, ...]) -> None:
    """Compare on the servers that the tests use, and print what differs."""
    running = RunningServers(None)
    failed = False
    try:
        running.start(engines or ("postgresql", "mysql"))
        for name, url in running.urls.items():
            with scratch_database(url) as engine:
                for file in files:
                    failed |= compare(engine, name, file)
    finally:
        running.stop()
    raise SystemExit(1 if failed else 0)


def compare(engine: sa.Engine, name: str, file: Path) -> bool:
    """Print what differs, and return whether anything of it is not explained."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    rows = sum(len(raw["decisions"]) for raw in lines)
    reasons: Counter[str] = Counter()
    for key, theirs, ours, reason, place in differences(engine, lines):
        reasons[reason or "unexplained"] += 1
        if reason is None and reasons["unexplained"] <= MOST_NAMED:
            click.echo(f"{file.name}:{place + 1}: {key[2]} [{key[3]}]: Airflow {theirs}, selectq {ours}")
    told = ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "none"
    click.echo(f"{name} {file.stem}: {len(lines)} dags in a state, {rows} decisions; differences: {told}")
    return bool(reasons["unexplained"])


if __name__ == "__main__":
    main()
