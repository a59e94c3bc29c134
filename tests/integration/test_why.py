"""``selectq why``: one plain line per task instance, true to the reasons."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from selectq.cli import main
from tests.oracle import Dag, Instance, Pool, Run, Task, World
from tests.world_tables import store

DAY = datetime(2026, 1, 1, tzinfo=UTC)
PLAIN = World({"p": Pool(3)}, {"d": Dag()}, {("d", "t"): Task()}, {("d", "r"): Run("running", DAY)}, {})


def instances(count: int, **changes: object) -> dict[tuple[str, str, str, int], Instance]:
    return {("d", "r", "t", index): replace(Instance(pool="p"), **changes) for index in range(count)}  # type: ignore[arg-type]


def why(url: str, engine: sa.Engine, world: World, *arguments: str) -> Result:
    with engine.begin() as connection:
        store(connection, world)
    return CliRunner().invoke(main, ["why", "d", "r", "t", *arguments, "--db", url])


BUSY = {("d", "r", "busy", 0): Instance("running", "p", 2)}
CASES = {
    "pool": (
        replace(PLAIN, instances=BUSY | instances(1, pool_slots=2)),
        "waits: pool p: 2 of 3 slots used, needs 2; goes on when 1 more is free",
    ),
    "too wide": (
        replace(PLAIN, instances=instances(1, pool_slots=4)),
        "can never start: pool p: 0 of 3 slots used, needs 4; goes on when the pool has at least 4 slots",
    ),
    "no pool": (
        replace(PLAIN, pools={}, instances=instances(1)),
        "can never start: there is no pool p; create it, or move the task to a pool that exists",
    ),
    "run": (
        replace(PLAIN, dags={"d": Dag(1)}, instances=BUSY | instances(1)),
        "waits: max_active_tasks of dag run d r: 1 of 1 used; goes on when one of them ends",
    ),
    "task": (
        replace(PLAIN, tasks={("d", "t"): Task(0)}, instances=instances(1)),
        "can never start: max_active_tis_per_dag of task d t, over all runs: 0 of 0 used; "
        "goes on when the limit is raised above 0",
    ),
    "task in run": (
        replace(PLAIN, tasks={("d", "t"): Task(None, -1)}, instances=instances(1)),
        "can never start: max_active_tis_per_dagrun of task t in run d r: 0 of -1 used; "
        "goes on when the limit is raised above 0",
    ),
    "paused": (
        replace(PLAIN, dags={"d": Dag(is_paused=True)}, instances=instances(1)),
        "waits: dag d is paused; goes on when it is unpaused",
    ),
    "run state": (
        replace(PLAIN, runs={("d", "r"): Run("failed", DAY)}, instances=instances(1)),
        "waits: dag run r is not running; goes on when it is",
    ),
    "starts": (replace(PLAIN, instances=instances(1)), "may start now: number 1 of 1 in this pass"),
    "runs": (replace(PLAIN, instances=instances(1, state="running")), "is not waiting for a limit: running"),
    "not scheduled": (
        replace(PLAIN, instances=instances(1, state=None)),
        "is not waiting for a limit: not scheduled yet: its upstreams are not decided",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_plain_line(engine_url: str, engine: sa.Engine, case: str) -> None:
    world, line = CASES[case]
    result = why(engine_url, engine, world)
    assert (result.exit_code, result.output) == (0, f"d r t [0] {line}\n")


def test_places_of_the_pass_and_executors(engine_url: str, engine: sa.Engine) -> None:
    world = replace(PLAIN, pools={"p": Pool(-1)}, instances=instances(3))
    result = why(engine_url, engine, world, "--max-tis", "2", "--executor-slots", '{"": 1}')
    assert result.output.splitlines() == [
        "d r t [0] may start now: number 1 of 1 in this pass",
        "d r t [1] waits: executor '': 1 of 1 used; goes on when one of them ends",
        "d r t [2] waits: executor '': 1 of 1 used; goes on when one of them ends",
    ]


def test_one_instance_as_json(engine_url: str, engine: sa.Engine) -> None:
    world = replace(PLAIN, instances=instances(5))
    result = why(engine_url, engine, world, "4", "--max-tis", "2", "--json")
    assert json.loads(result.output) == {
        "key": ["d", "r", "t", 4],
        "state": "scheduled",
        "verdict": "waits",
        "text": "waits: max_tis of the pass: 2 of 2 used by what comes before it; a later pass takes it",
        "place": None,
        "reasons": [{"limit": "max_tis", "holder": [], "used": 2, "capacity": 2, "never": False}],
    }


def test_the_first_of_many(engine_url: str, engine: sa.Engine) -> None:
    result = why(engine_url, engine, replace(PLAIN, instances=instances(5)), "--limit", "2")
    assert len(result.stdout.splitlines()) == 2
    assert result.stderr == "(the first 2; there may be more: --limit)\n"


@pytest.mark.parametrize("engine_name", ["postgresql"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["7"], "Error: no task instance of dag 'd', run 'r', task 't' with map_index 7\n"),
        (["--max-tis", "0"], "Error: max_tis: must be a whole number from 1 to 1000000, not 0\n"),
        (["--executor-slots", "{"], "Error: executor_slots: is not JSON: "),
        (["--executor-slots", "[1]"], 'Error: executor_slots: must be an object like {"celery": 3}, not [1]\n'),
        (["--executor-slots", '{"a": "b"}'], "Error: executor_slots: free slots of 'a' must be a whole 32-bit number"),
    ],
)
def test_wrong_input_is_named(engine_url: str, engine: sa.Engine, arguments: list[str], message: str) -> None:
    result = why(engine_url, engine, replace(PLAIN, instances=instances(1)), *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(message)


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_a_wrong_option_is_named(engine_url: str, engine: sa.Engine) -> None:
    result = why(engine_url, engine, replace(PLAIN, instances=instances(1)), "--limit", "0")
    assert result.exit_code == 2
    assert "Invalid value for '--limit'" in result.stderr
