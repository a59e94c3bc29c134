"""``selectq explain QUERY`` on real servers: what it prints, what it runs, and that nothing of it is left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from selectq import catalogue
from selectq.catalogue import Query, default_catalogue
from selectq.cli import main
from selectq.database import PLANNER_SETTINGS
from selectq.errors import SelectqError
from selectq.plans.explain import explain
from selectq.schema import build_metadata
from tests.oracle import Dag, Instance, Pool, Run, Task, World
from tests.query_files import put
from tests.world_tables import store

WORLD = World(
    {f"pool_{number}": Pool(3) for number in range(4)},
    {"d": Dag()},
    {("d", "t"): Task(5, None)},
    {("d", "r"): Run("running")},
    {("d", "r", "t", index): Instance("scheduled" if index else "running", f"pool_{index}") for index in range(4)},
)
QUERIES = sorted({query.name for query in default_catalogue()})
CHANGES = ["selection/claim", "selection/lock_holders", "selection/mark_queued"]


@pytest.fixture
def url(engine: sa.Engine, engine_url: str) -> str:
    with engine.begin() as connection:
        store(connection, WORLD)
    return engine_url


def run(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments, "--db", url], env={"SELECTQ_DB": ""})


def explained(url: str, *arguments: str) -> dict[str, Any]:
    done = run(url, *arguments, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def planted(root: Path, dialect: str, sql: str, locks: str = "none") -> Query:
    put(
        root,
        f"{dialect}/selection/planted.v1.sql",
        "-- name: selection/planted\n-- version: 1\n-- purpose: None.\n-- result: rows\n-- param least: integer\n"
        f"-- column pool: text\n-- locks: {locks}\n-- isolation: any\n-- limits: none\n-- server: 15\n"
        f"-- origin: hand-written: for a test\n\n{sql}\n",
    )
    return catalogue.Catalogue.load(root).get("selection/planted", dialect)


def contents(engine: sa.Engine) -> dict[str, list[Any]]:
    with engine.connect() as connection:
        tables = build_metadata(engine.dialect.name).sorted_tables
        return {table.name: sorted(map(repr, connection.execute(sa.select(table)))) for table in tables}


def lock_everything(engine: sa.Engine) -> None:
    """Raises if anybody holds a lock on a row."""
    with engine.connect() as connection:
        for table in build_metadata(engine.dialect.name).sorted_tables:
            connection.execute(sa.select(table).with_for_update(nowait=True)).all()
        connection.rollback()


def test_every_query_of_a_selection_without_and_with_analyze(url: str, engine: sa.Engine) -> None:
    before = contents(engine)
    for query in default_catalogue():
        if query.dialect != engine.dialect.name or not query.name.startswith("selection/"):
            continue
        planned, analyzed = explained(url, query.name), explained(url, query.name, "--analyze")
        for found in (planned, analyzed):
            assert (found["query"], found["version"], found["engine"]) == (query.name, query.version, query.dialect)
            assert found["parameters"].keys() == query.parameter_names
            assert found["plan"]
            assert {table["table"] for table in found["tables"]} <= set(before)
            assert found["tables"], query.name
        assert not planned["analyzed"]
        assert all(table["rows"] is None and table["estimated"] is not None for table in planned["tables"])
        assert (planned["ms"], planned["pages"], planned["handlers"]) == (None, None, {})
        assert analyzed["analyzed"]
        assert all(isinstance(table["rows"], int) for table in analyzed["tables"])
        assert sum(table["rows"] for table in analyzed["tables"]) > 0, query.name
        if query.dialect == "mysql":
            assert sum(analyzed["handlers"].values()) > 0
        else:
            assert analyzed["pages"] > 0
            assert all(table["pages"] is not None for table in analyzed["tables"])
    assert contents(engine) == before


@pytest.mark.parametrize("analyze", [(), ("--analyze",)], ids=["plan", "analyze"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_leaves_no_trace(url: str, engine: sa.Engine, name: str, analyze: tuple[str, ...]) -> None:
    names = {query.name for query in default_catalogue() if query.dialect == engine.dialect.name}
    before = contents(engine)
    with engine.connect() as connection:
        if name in names:
            query = default_catalogue().get(name, engine.dialect.name)
            found = explain(connection, query, {}, bool(analyze))
            assert {len(found.parameters[part]) for part in ("claims", "claimed") if part in found.parameters} <= {3}
            assert found.plan.analyzed == bool(analyze)
            assert sum(found.plan.rows_read().values()) >= 3 * len(analyze)
            assert not connection.in_transaction()
        lock_everything(engine)
    assert contents(engine) == before
    done = run(url, name, *analyze)
    assert done.exit_code == (0 if name in names else 2)
    lock_everything(engine)


def test_a_query_that_says_it_changes_nothing_can_change_nothing(url: str, engine: sa.Engine, tmp_path: Path) -> None:
    before = contents(engine)
    update = {
        "postgresql": "WITH u AS (UPDATE slot_pool SET slots = :least RETURNING pool) SELECT pool FROM u",
        "mysql": "UPDATE slot_pool AS p JOIN dag AS d SET p.slots = :least",
    }[engine.dialect.name]
    query = planted(tmp_path, engine.dialect.name, update)
    with engine.connect() as connection, pytest.raises(SelectqError, match=r"(?i)planted.v1: .*read.only transaction"):
        explain(connection, query, {"least": 9}, analyze=True)
    assert contents(engine) == before


def test_rows_that_are_filtered_out_count_as_read(url: str, engine: sa.Engine, tmp_path: Path) -> None:
    query = planted(tmp_path, engine.dialect.name, "SELECT pool FROM slot_pool WHERE slots >= :least")
    with engine.connect() as connection:
        for least, rows in ((0, 4), (99, 4)):
            plan = explain(connection, query, {"least": least}, analyze=True).plan
            assert plan.rows_read() == {"slot_pool": rows}
            assert [access.path for access in plan.accesses] in (["Seq Scan"], ["Table scan"])


@pytest.mark.parametrize("engine_name", ["mysql"])
def test_what_mysql_cannot_analyze_is_run_and_rolled_back(url: str, engine: sa.Engine, tmp_path: Path) -> None:
    before = contents(engine)
    query = planted(tmp_path, "mysql", "UPDATE slot_pool SET slots = slots + :least WHERE pool > ''", "the pools")
    with engine.connect() as connection:
        planned = explain(connection, query, {"least": 1}).plan
        run_too = explain(connection, query, {"least": 1}, analyze=True).plan
    assert (planned.notes, planned.handlers) == ((), {})
    assert run_too.notes == ("MySQL can't analyze such a statement: it was run, the plan shows estimates",)
    assert sum(run_too.handlers.values()) >= len(WORLD.pools)
    assert [(access.table, access.rows) for access in run_too.accesses] == [("slot_pool", None)]
    assert contents(engine) == before
    lock_everything(engine)


def test_text_says_how_and_shows_steps_and_tables(url: str, engine: sa.Engine) -> None:
    planned, analyzed = run(url, "selection/usage_by_pool"), run(url, "selection/usage_by_pool", "--analyze")
    heading = planned.stdout.splitlines()
    assert heading[0].startswith("selection/usage_by_pool, version 1, on ")
    assert heading[1] == "not run: estimates only"
    if engine.dialect.name == "postgresql":
        assert all(f"{name} = {value}" in heading[2] for name, value in PLANNER_SETTINGS.items())
        assert "Shared buffers, hit or read: " in analyzed.stdout
    else:
        assert heading[2] == "settings: those of the server; selectq changes none on this engine"
        assert "\ncounter " in analyzed.stdout
        assert "\nHandler_read_" in analyzed.stdout
    assert analyzed.stdout.splitlines()[1].startswith("run and rolled back, ")
    assert "├─ " in planned.stdout
    assert "\ntable " in planned.stdout
    assert "\nslot_pool " in planned.stdout
    assert "rows read" not in planned.stdout
    assert "rows read" in analyzed.stdout


def test_parameters_are_those_of_a_pass_or_as_given(url: str, engine: sa.Engine) -> None:
    keys = [["d", "r", "t", index] for index in (1, 2, 3)]
    claims = explained(url, "selection/claim")["parameters"]["claims"]
    assert [list(claim.values() if isinstance(claim, dict) else claim)[:4] for claim in claims] == keys
    assert explained(url, "selection/blocked_by")["parameters"]["admitted"] == keys
    one = explained(url, "selection/blocked_by", "--param", "max_tis=1", "--param", "task_id")["parameters"]
    assert (one["max_tis"], one["admitted"], one["task_id"]) == (1, keys[:1], None)
    found = explained(url, "selection/task_instances", "--param", "run_id=other")["parameters"]
    assert (found["dag_id"], found["run_id"], found["task_id"], found["map_index"]) == ("d", "other", "t", None)
    if engine.dialect.name == "mysql":
        select = explained(url, "selection/select_executable", "--param", "max_tis=2")["parameters"]
        assert (select["max_tis"], select["executor_slots"]) == (2, {})


def test_without_anything_to_select(engine_url: str) -> None:
    assert explained(engine_url, "selection/claim", "--analyze")["parameters"]["claims"] == []
    done = run(engine_url, "selection/task_instances")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: param: selection/task_instances.v1 needs --param NAME=VALUE for: dag_id")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("selection/claims",), "no query 'selection/claims' for "),
        (("selection/claim", "--version", "99"), "no version 99 of 'selection/claim'"),
        (("selection/claim", "--param", "max_tis=1"), "selection/claim.v1 has no such parameter"),
        (("selection/task_instances", "--param", "map_index=x"), "map_index: 'x' is no integer"),
        (("selection/claim", "--param", "claims=x"), "claims: 'x' is no json"),
        (("selection/claim", "--analyze", "--param", 'claims="x"'), "selection/claim.v1: the server refuses it: "),
        (("selection/blocked_by", "--param", "max_tis=0"), "max_tis: must be a whole number from 1"),
        (("selection/blocked_by", "--param", "executor_slots=[]"), "executor_slots: must map executor names"),
    ],
)
@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_wrong_input(url: str, arguments: tuple[str, ...], words: str) -> None:
    done = run(url, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_tables(empty_engine_url: str) -> None:
    done = run(empty_engine_url, "selection/open_pools")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: there are no selectq tables in this database")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Missing argument 'QUERY'"),
        (("selection/claim",), "give --db once"),
        (("selection/claim", "--db", "mysql://a@b/c", "--db", "mysql://a@b/c"), "give --db once"),
        (("selection/claim", "--db", "mysql://a@b/c", "--update"), "--update can't be used here: it goes with --check"),
        (("--rows", "2000"), "--rows can't be used here: it goes with --check"),
        (("--check", "--analyze"), "--analyze can't be used here: a check chooses its own"),
        (("--check", "--param", "max_tis=1"), "--param can't be used here"),
        (("--check", "--version", "1"), "--version can't be used here"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], words: str) -> None:
    done = CliRunner().invoke(main, ["explain", *arguments], env={"SELECTQ_DB": "", "COLUMNS": "200"})
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
