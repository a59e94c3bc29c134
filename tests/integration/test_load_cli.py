"""``selectq load`` and ``selectq.define``: what is written, what is refused, and what ``selectq why`` says of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

import selectq
from selectq import schema
from selectq.cli import main
from selectq.dags import Dag, Group, Task
from selectq.errors import InvalidDagError
from tests.world_tables import states

FILE = """
dags:
  - dag_id: etl
    max_active_tasks: 4
    groups:
      - {group_id: g, is_mapped: true, expands_over: [list]}
    tasks:
      - {task_id: up, is_setup: true}
      - {task_id: list, upstream: [up]}
      - {task_id: g.one, upstream: [list], group: g, retries: 2}
      - {task_id: sum, upstream: [g.one], trigger_rule: none_failed}
      - {task_id: down, upstream: [up, sum], is_teardown: true, trigger_rule: all_done_setup_success}
"""

RELATIONS = {
    ("list", "up", "direct"),
    ("g.one", "list", "direct"),
    ("g.one", "list", "expands"),
    ("g.one", "up", "setup"),
    ("sum", "g.one", "direct"),
    ("sum", "up", "setup"),
    ("down", "up", "direct"),
    ("down", "sum", "direct"),
    ("down", "g.one", "scope"),
    ("down", "list", "scope"),
}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def table(engine: sa.Engine, name: str) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        found = connection.execute(sa.select(schema.metadata.tables[name])).mappings().all()
    return [dict(row) for row in found]


def related(engine: sa.Engine) -> set[tuple[str, str, str]]:
    names = {row["task_no"]: row["task_id"] for row in table(engine, "task")}
    return {(names[r["task_no"]], names[r["upstream_no"]], r["relation"]) for r in table(engine, "task_upstream")}


def test_a_file_is_loaded_and_loaded_again(engine: sa.Engine, engine_url: str, tmp_path: Path) -> None:
    path = tmp_path / "dags.yaml"
    path.write_text(FILE)
    result = run("load", path, "--db", engine_url)
    assert (result.exit_code, result.output) == (0, "etl: 5 tasks\n")
    assert related(engine) == RELATIONS
    [dag] = table(engine, "dag")
    assert (dag["max_active_tasks"], bool(dag["is_paused"])) == (4, False)
    assert {row["task_id"]: row["mapped_group"] for row in table(engine, "task")}["g.one"] == "g"
    before = [table(engine, name) for name in ("dag", "task", "task_edge", "task_group", "task_upstream")]
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE dag SET is_paused = TRUE"))
    again = run("load", path, "--db", engine_url, "--json")
    assert json.loads(again.output) == {"dag_id": "etl", "tasks": 5, "groups": 1}
    after = [table(engine, name) for name in ("dag", "task", "task_edge", "task_group", "task_upstream")]
    assert after[1:] == before[1:]
    assert after[0][0]["is_paused"], "a dag that somebody paused stays so"


def test_tasks_that_are_gone_are_taken_out_and_their_rows_stay(engine: sa.Engine) -> None:
    dag = Dag("d", [Task("a"), Task("b", upstream=["a"])], is_paused=True)
    selectq.define(engine, dag)
    with engine.begin() as connection:
        for name, row in (("dag_run", {"state": "running"}), ("task_instance", {"task_id": "a"})):
            connection.execute(sa.insert(schema.metadata.tables[name]).values(dag_id="d", run_id="r", **row))
    selectq.define(engine, replace(dag, tasks=[Task("b", trigger_rule="all_done")], is_paused=False))
    [task] = table(engine, "task")
    assert (task["task_id"], task["trigger_rule"]) == ("b", "all_done")
    assert table(engine, "task_edge") == table(engine, "task_upstream") == []
    with engine.connect() as connection:
        assert states(connection) == {("d", "r", "a", -1): None}


@pytest.mark.parametrize(
    ("dag", "message"),
    [
        (Dag("d", [Task("a", upstream=["c"]), Task("b", upstream=["a"]), Task("c", upstream=["b"])]), "a cycle: "),
        (Dag("d", [Task("a"), Task("b", upstream=["aa"])]), "task 'b': upstream: unknown id 'aa'; did you mean 'a'?"),
        (Dag("d", [Task("a", upstream=["a"])]), "dag 'd', task 'a': upstream: names the task itself; remove it"),
        (Dag("d", [Task("a", is_teardown=True)]), "dag 'd', task 'a': upstream: a teardown needs a setup (is_setup)"),
        (Dag("d", [Task("a", trigger_rule="all_sucess")]), "task 'a': trigger_rule: unknown rule 'all_sucess'; did"),
        (Dag("d", [Task("a"), Task("a")]), "task 'a': task_id: there is a task of that id already; rename one"),
        (Dag("d", [Task("a")], [Group("a")]), "dag 'd', group 'a': group_id: there is a task of that id already"),
        (Dag("d", [Task("a", group="g")]), "dag 'd', task 'a': group: unknown id 'g'"),
        (Dag("d", [], [Group("g", parent="h"), Group("h", parent="g")]), "parent: a cycle: "),
        (Dag("d", [Task("a", is_mapped=True, expands_over=["x"])]), "task 'a': expands_over: unknown id 'x'"),
        (Dag("d", [Task("a"), Task("b", ["a"], expands_over=["a"])]), "task 'b': expands_over: only a mapped task is "),
        (Dag("d", [Task("a", is_setup=True, is_teardown=True)]), "a task is a setup or a teardown, not both"),
        (Dag("d", [Task("a", pool_slots=0)]), "task 'a': pool_slots: must be a whole number from 1"),
        (Dag("d", [Task("")]), "task '': task_id: must be text of 1 to 250 characters"),
        (Dag("", []), "dag_id: must be text of 1 to 250 characters"),
        (Dag("d", [Task("a", is_mapped="yes")]), "task 'a': is_mapped: must be True or False, not 'yes'"),  # type: ignore[arg-type]
        (Dag("d", [Task("a"), Task("b", upstream="a")]), "task 'b': upstream: must be a list of ids, not 'a'"),
    ],
)
def test_what_is_no_dag_is_refused_by_name(empty_engine: sa.Engine, dag: Dag, message: str) -> None:
    """Before anything is asked of the database, which has no tables here."""
    with pytest.raises(InvalidDagError) as caught:
        selectq.define(empty_engine, Dag("right", [Task("a")]), dag)
    assert message in str(caught.value)


@pytest.mark.parametrize("engine_name", ["postgresql"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("dags: [{dag_id: d, tasks: [{task_id: a, upstream: b}]}]", "dags[0].tasks[0].upstream: expected a list, "),
        ("dags: [{dag_id: d, tasks: [{task_id: a, rule: x}]}]", "found the unknown field the text 'rule'"),
        ("dags: [{dag_id: d, tasks: [{task_id: a, upstream: [b]}]}]", "dag 'd', task 'a': upstream: unknown id 'b'"),
        ("dag_id: d", "expected the fields dags, found the unknown field the text 'dag_id'"),
        ("[", "expected valid YAML, found a mistake"),
        (None, "can't be read as UTF-8 text: [Errno 2] No such file or directory"),
    ],
)
def test_wrong_files(engine_url: str, tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "dags.yaml"
    if content is not None:
        path.write_text(content)
    result = run("load", path, "--db", engine_url)
    assert result.exit_code == 2
    assert message in result.stderr


WHY = {
    "list": "d r list may be scheduled: trigger rule all_success, 1 of 1 upstream task instances finished (1 success)",
    "g.one": "d r g.one is not scheduled yet: trigger rule all_success, 0 of 1 upstream task instances finished; "
    "waits for list (1 not scheduled)",
    "bad": "d r bad becomes upstream_failed, by trigger rule all_success, 1 of 1 upstream task instances finished "
    "(1 failed)",
    "down": "d r down is not scheduled yet: trigger rule all_done_setup_success, 1 of 2 upstream task instances "
    "finished (1 success); waits for sum (no task instance yet)",
    "up": "d r up is not waiting for a limit: success",
}


def test_why_of_what_is_not_scheduled_yet(engine: sa.Engine, engine_url: str, tmp_path: Path) -> None:
    path = tmp_path / "dags.yaml"
    more = "      - {task_id: worse}\n      - {task_id: bad, upstream: [worse]}\n"
    path.write_text(FILE.replace("dag_id: etl", "dag_id: d") + more)
    assert run("load", path, "--db", engine_url).exit_code == 0
    rows = {"up": "success", "list": None, "g.one": None, "down": None, "worse": "failed", "bad": None}
    with engine.begin() as connection:
        runs, instances = (schema.metadata.tables[name] for name in ("dag_run", "task_instance"))
        connection.execute(sa.insert(runs).values(dag_id="d", run_id="r", state="running"))
        values = [{"dag_id": "d", "run_id": "r", "task_id": name, "state": state} for name, state in rows.items()]
        connection.execute(sa.insert(instances), values)
    for name, line in WHY.items():
        result = run("why", "d", "r", name, "--db", engine_url)
        assert (result.exit_code, result.output) == (0, line + "\n")
    result = run("why", "d", "r", "bad", "--db", engine_url, "--json")
    assert json.loads(result.output)["verdict"] == "upstream_failed"
