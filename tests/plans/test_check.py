"""``selectq explain --check`` finds plans that went wrong: planted queries on real servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from selectq import catalogue
from selectq.cli import main
from selectq.errors import SelectqError
from selectq.plans import checkout
from selectq.plans.check import Found, judge, look, update
from selectq.plans.compare import Difference
from selectq.plans.states import BULK, FRESH, STALE, STATES
from tests.query_files import put

HEADER = """\
-- name: {area}/planted
-- version: 1
-- purpose: The first that wait, by priority.
-- result: rows
-- param {parameter}: integer
-- column dag_id: text
-- locks: none
-- isolation: any
-- limits: none
-- server: 15
-- origin: hand-written: for a test
{waiver}
"""
SORTS_ALL = """\
SELECT ti.dag_id
FROM task_instance AS ti
JOIN dag_run AS r ON r.dag_id = ti.dag_id AND r.run_id = ti.run_id
WHERE ti.state = 'scheduled'
ORDER BY ti.priority_weight DESC, r.logical_date, ti.task_id DESC
LIMIT :max_tis
"""
BY_KEY = "SELECT ti.dag_id FROM task_instance AS ti WHERE ti.dag_id = 'dag_00001' AND ti.run_id = '' LIMIT :max_tis\n"
KEY = {"postgresql": "ix_task_instance_upstream", "mysql": "PRIMARY"}
"""The index that it is looked up by."""
BY_INDEX = {
    "postgresql": "SELECT dag_id FROM task_instance AS ti WHERE state = 'running' AND pool >= '' LIMIT :max_tis\n",
    "mysql": "SELECT /*+ INDEX(ti ix_task_instance_active) */ ti.dag_id FROM task_instance AS ti "
    "WHERE ti.state = 'running' LIMIT :max_tis\n",
}
FORGETS_THE_HINT = (
    "SELECT MAX(pool) AS dag_id FROM task_instance WHERE state IN ('queued', 'running') AND :max_tis > 0 "
    "GROUP BY dag_id, run_id\n"
)
ROWS = 2000


def tree(
    root: Path, dialect: str, sql: str, waiver: str = "", parameter: str = "max_tis", area: str = "selection"
) -> catalogue.Catalogue:
    """A catalogue of one query."""
    text = HEADER.format(area=area, waiver=f"-- plan-waiver: {waiver}\n" if waiver else "", parameter=parameter)
    put(root, f"{dialect}/{area}/planted.v1.sql", text + sql)
    return catalogue.Catalogue.load(root)


def looked(engine: sa.Engine, queries: catalogue.Catalogue, workload: str = "uniform") -> Found:
    return look(engine.url.render_as_string(hide_password=False), queries, [checkout.workloads(ROWS)[workload]])


def states(differences: list[Difference], rule: str) -> set[str]:
    return {each.place.rpartition("/")[2] for each in differences if each.rule == rule}


def test_a_query_that_sorts_the_backlog_fails_in_every_state(engine: sa.Engine, tmp_path: Path) -> None:
    queries = tree(tmp_path / "sql", engine.dialect.name, SORTS_ALL)
    found = looked(engine, queries)
    assert states(judge(found, queries, tmp_path), "backlog") == set(STATES)
    # As a baseline it is no better.
    update(found, queries, tmp_path)
    assert {each.rule for each in judge(found, queries, tmp_path)} == {"backlog"}
    waived = tree(tmp_path / "sql", engine.dialect.name, SORTS_ALL, "backlog: it is made to")
    assert judge(found, waived, tmp_path) == []


@pytest.mark.parametrize("engine_name", ["mysql"])
def test_a_query_that_reads_the_backlog_only_where_statistics_are_stale(engine: sa.Engine, tmp_path: Path) -> None:
    queries = tree(tmp_path / "sql", "mysql", FORGETS_THE_HINT)
    found = looked(engine, queries)
    assert states(judge(found, queries, tmp_path), "backlog") == {STALE, BULK}
    only_stale = tree(tmp_path / "sql", "mysql", FORGETS_THE_HINT, "stale: let it")
    assert states(judge(found, only_stale, tmp_path), "backlog") == {BULK}
    assert FRESH not in states(judge(found, only_stale, tmp_path), "waiver")


def test_a_changed_plan_is_shown_as_a_diff(engine: sa.Engine, tmp_path: Path) -> None:
    good = tree(tmp_path / "sql", engine.dialect.name, BY_KEY)
    found = looked(engine, good)
    [path] = update(found, good, tmp_path)
    assert judge(found, good, tmp_path) == []
    assert update(found, good, tmp_path) == []
    changed = tree(tmp_path / "sql", engine.dialect.name, BY_INDEX[engine.dialect.name])
    differences = judge(looked(engine, changed), changed, tmp_path)
    assert states(differences, "steps") == set(STATES)
    assert states(differences, "backlog") == set()
    diff = "\n".join(differences[0].diff)
    assert f"{KEY[engine.dialect.name]} on task_instance" in diff
    assert "+" in diff
    # A file whose query is gone.
    stray = path.with_name("gone.v1.json")
    stray.write_text(path.read_text())
    assert [each.reason for each in judge(found, good, tmp_path)] == [f"{stray}: there is no such query"]
    assert update(found, good, tmp_path) == [stray]
    assert not stray.exists()


def test_a_query_whose_parameters_no_pass_knows_is_found(engine: sa.Engine, tmp_path: Path) -> None:
    queries = tree(tmp_path / "sql", engine.dialect.name, BY_KEY.replace(":max_tis", ":wishes"), parameter="wishes")
    [difference] = judge(looked(engine, queries), queries, tmp_path)
    assert (difference.query, difference.place, difference.rule) == ("selection/planted.v1", "", "baseline")
    assert difference.reason == "param: selection/planted.v1 needs --param NAME=VALUE for: wishes (integer)"


def test_a_query_that_the_work_of_its_area_never_runs_is_found(engine: sa.Engine, tmp_path: Path) -> None:
    queries = tree(tmp_path / "sql", engine.dialect.name, BY_KEY, area="parsing")
    [difference] = judge(looked(engine, queries, "files-due"), queries, tmp_path)
    assert (difference.query, difference.rule, difference.reason) == (
        "parsing/planted.v1",
        "baseline",
        "no workload runs it",
    )


@pytest.mark.parametrize("engine_name", ["postgresql"])
@pytest.mark.parametrize(("workload", "area"), [("uniform", "selection"), ("files-due", "parsing")])
def test_statistics_that_a_transaction_of_others_spoils_are_refused(
    engine: sa.Engine, tmp_path: Path, workload: str, area: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selectq.plans.states.PATIENCE", 2)
    queries = tree(tmp_path / "sql", "postgresql", BY_KEY, area=area)
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as other:
        other.execute(sa.text("SELECT 1 FROM dag"))
        with pytest.raises(SelectqError, match="a transaction is held open in this database"):
            looked(engine, queries, workload)


def check(engine: sa.Engine, *arguments: str) -> Result:
    url = engine.url.render_as_string(hide_password=False)
    words = ["explain", "--check", "--rows", str(ROWS), "--db", url, *arguments]
    return CliRunner().invoke(main, words, env={"SELECTQ_DB": "", "COLUMNS": "200"})


def databases(engine: sa.Engine) -> set[str]:
    with engine.connect() as connection:
        return {name for name in sa.inspect(connection).get_schema_names() if name.startswith("selectq_scratch_")}


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_the_command(engine: sa.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = databases(engine)
    monkeypatch.setattr(catalogue, "ROOT", tmp_path / "sql")
    monkeypatch.setattr(checkout, "BASELINES", tmp_path / "plans")
    tree(tmp_path / "sql", "postgresql", BY_KEY)
    written = check(engine, "--update")
    server = next((tmp_path / "plans").iterdir()).name
    file = tmp_path / "plans" / server / "selection" / "planted.v1.json"
    assert written.exit_code == 0, written.output
    assert written.stdout == f"written: {file}\n{server}: 6 plans, no differences\n"
    assert set(json.loads(file.read_text())["plans"][0]["rows_at_most"]) <= {
        f"{name}/{ROWS}/{state}" for name in ("uniform", "floods") for state in STATES
    }
    same = check(engine, "selection/planted")
    assert (same.exit_code, same.stdout) == (0, f"{server}: 6 plans, no differences\n")
    assert "loading floods, 2,000 rows" in same.stderr

    file.write_text(file.read_text().replace('"Limit"', '"Unique"'))
    other = check(engine)
    assert other.exit_code == 1
    assert f"{server} selection/planted.v1 floods/{ROWS}/bulk\n  steps: " in other.stdout
    assert "\n    -Unique\n" in other.stdout
    assert "\n    +Limit\n" in other.stdout
    as_json = [json.loads(line) for line in check(engine, "--json").stdout.splitlines()]
    assert {each["place"] for each in as_json} == {
        f"{name}/{ROWS}/{state}" for name in ("uniform", "floods") for state in STATES
    }
    assert "-Unique" in as_json[0]["diff"]
    assert databases(engine) == before


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_what_can_not_be_checked(engine: sa.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = check(engine, "selection/nothing")
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert unknown.stderr == "Error: no query 'selection/nothing'; 'selectq sql list' shows what there is\n"
    odd = check(engine, "--rows", "1")
    assert (odd.exit_code, odd.stdout) == (2, "")
    assert odd.stderr.startswith("Error: rows: rows must be a multiple of 1,000, not 1")
    monkeypatch.setattr(checkout, "HOME", tmp_path / "nowhere")
    installed = check(engine)
    assert (installed.exit_code, installed.stdout) == (2, "")
    assert "run this in a clone" in installed.stderr
