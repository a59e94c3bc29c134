"""``selectq sql`` as it is typed, on the project's files and on small trees of our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from selectq import catalogue
from selectq.catalogue import DIALECTS, ROOT, default_catalogue
from selectq.cli import main
from selectq.cli.code import print_code
from tests.query_files import FILE, POOLS, TWIN, edit, put, real_tree, small_tree


def selectq(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["sql", *arguments], env={"SELECTQ_DB": ""})


def lines_of_json(result: Result) -> list[dict[str, object]]:
    assert result.exit_code in (0, 1), result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small tree in place of the project's, in a source tree of its own."""
    put(tmp_path, "pyproject.toml", "")
    root = small_tree(tmp_path / "sql")
    monkeypatch.setattr(catalogue, "ROOT", root)
    return root


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project's files in its place, in a source tree of its own."""
    put(tmp_path, "pyproject.toml", "")
    root = real_tree(tmp_path / "sql")
    monkeypatch.setattr(catalogue, "ROOT", root)
    return root


def second_version(root: Path) -> None:
    text = POOLS.format(server="15").replace("ORDER BY pool", "ORDER BY slots")
    put(root, "postgresql/selection/pools.v2.sql", text.replace("-- version: 1", "-- version: 2"))


# list


def test_list(small: Path) -> None:
    second_version(small)
    assert selectq("list").stdout.splitlines() == [
        "name             version  result  engines            purpose",
        "selection/pools        1  rows    postgresql, mysql  Pools with at least so many slots.",
        "selection/pools        2  rows    postgresql         Pools with at least so many slots.",
    ]


def test_list_of_one_engine(small: Path) -> None:
    second_version(small)
    assert len(selectq("list", "--engine", "mysql").stdout.splitlines()) == 2


def test_list_as_json() -> None:
    listed = lines_of_json(selectq("list", "--json"))
    assert {(row["name"], row["version"]) for row in listed} == {(q.name, q.version) for q in default_catalogue()}
    [claim] = [row for row in listed if row["name"] == "selection/claim"]
    assert claim == {
        "name": "selection/claim",
        "version": 1,
        "result": "rows",
        "engines": list(DIALECTS),
        "purpose": default_catalogue().get("selection/claim", "postgresql").purpose,
    }


# show


def test_show_prints_the_file_as_it_stands() -> None:
    for dialect in DIALECTS:
        shown = selectq("show", "selection/claim", "--engine", dialect)
        assert shown.stdout == (ROOT / dialect / "selection/claim.v1.sql").read_text()


def test_show_takes_the_engine_that_has_it() -> None:
    assert selectq("show", "selection/claim").stdout == (ROOT / "postgresql/selection/claim.v1.sql").read_text()
    assert selectq("show", "selection/mark_queued").stdout.startswith("-- name: selection/mark_queued\n")


def test_show_takes_the_newest_version(small: Path) -> None:
    second_version(small)
    assert "-- version: 2\n" in selectq("show", "selection/pools").stdout
    assert "-- version: 1\n" in selectq("show", "selection/pools", "--version", "1").stdout


def test_show_as_json(small: Path) -> None:
    [shown] = lines_of_json(selectq("show", "selection/pools", "--json"))
    query = catalogue.Catalogue.load(small).get("selection/pools", "postgresql")
    assert shown == {
        "name": "selection/pools",
        "version": 1,
        "engine": "postgresql",
        "file": FILE,
        "digest": query.digest,
        "header": dict(query.header),
        "parameters": [{"name": "least", "type": "integer", "description": "slots"}],
        "columns": [
            {"name": "pool", "type": "text", "description": ""},
            {"name": "slots", "type": "integer", "description": "-1 = unlimited"},
        ],
        "sql": query.sql,
    }


def test_code_is_coloured_in_a_terminal_only() -> None:
    script = "from selectq.cli.code import print_code; print_code('SELECT 1;\\n' + 'x' * 300 + '\\n', 'sql')"
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    shown = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert "\x1b[" in shown.stdout
    assert shown.stdout.count("\n") == 2


def test_code_is_unchanged_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    print_code("SELECT '[b]é[/b]';\n", "sql")
    assert capsys.readouterr().out == "SELECT '[b]é[/b]';\n"


# render


def test_render() -> None:
    rendered = selectq("render", "selection/select_executable", "--engine", "postgresql", "--param", "max_tis=32")
    assert rendered.exit_code == 0
    first, *rest = rendered.stdout.splitlines()
    assert first == "-- selection/select_executable, version 1, for postgresql"
    assert "    SELECT CAST(32 AS bigint) AS max_tis" in rest
    assert "    FROM jsonb_each_text(CAST('{}' AS jsonb))" in rest
    assert rest[-1] == "ORDER BY place;"
    assert "-- name:" not in rendered.stdout


def test_render_as_json(small: Path) -> None:
    [rendered] = lines_of_json(
        selectq("render", "selection/pools", "--engine", "mysql", "--param", "least=-1", "--json")
    )
    assert rendered == {
        "name": "selection/pools",
        "version": 1,
        "engine": "mysql",
        "sql": "SELECT pool, slots\nFROM slot_pool\nWHERE slots >= (-1)\nORDER BY pool",
    }


def test_a_name_alone_is_null(small: Path) -> None:
    assert "WHERE slots >= NULL" in selectq(
        "render", "selection/pools", "--engine", "mysql", "--param", "least"
    ).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Error: param: selection/claim.v1 needs --param NAME=VALUE for: claims (json: [["),
        (["--param", "claims=[]"], "needs --param NAME=VALUE for: queued_by (text: name of the scheduler)"),
        (["--param", "claim=[]"], "Error: claim: selection/claim.v1 has no such parameter; it has: claims, queued_by"),
        (["--param", "claims=[]", "--param", "claims"], "Error: claims: given twice"),
        (["--param", "claims=[{]"], "Error: claims: '[{]' is no json: "),
        (["--param", "claims=[]", "--param", "queued_by=a\0b"], "Error: queued_by: PostgreSQL's text can't hold NUL"),
        (["--version", "7"], "Error: no version 7 of 'selection/claim' for postgresql; there are: 1"),
    ],
)
def test_what_render_refuses(arguments: list[str], message: str) -> None:
    refused = selectq("render", "selection/claim", "--engine", "postgresql", *arguments)
    assert refused.exit_code == 2
    assert message in refused.stderr
    assert refused.stdout == ""


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("integer", "1.5", "least: '1.5' is no integer: "),
        ("integer", "9223372036854775808", "least: 9223372036854775808 is beyond 64 bits"),
        ("boolean", "1", "least: '1' is no boolean: expected true or false"),
        ("timestamp", "today", "least: 'today' is no timestamp: "),
        ("uuid", "12", "least: '12' is no uuid: "),
    ],
)
def test_values_are_of_the_declared_type(small: Path, kind: str, value: str, message: str) -> None:
    edit(small, FILE, "param least: integer", f"param least: {kind}")
    refused = selectq("render", "selection/pools", "--engine", "postgresql", "--param", f"least={value}")
    assert refused.exit_code == 2
    assert message in refused.stderr


@pytest.mark.parametrize(
    ("kind", "value", "literal"),
    [
        ("boolean", "True", "TRUE"),
        ("boolean", "false", "FALSE"),
        ("timestamp", "2026-01-02T03:04:05+01:00", "TIMESTAMPTZ '2026-01-02 02:04:05.000000+00'"),
        ("uuid", "00000000000000000000000000000001", "UUID '00000000-0000-0000-0000-000000000001'"),
        ("text", "", "''"),
        ("text", "a=b", "'a=b'"),
        ("json", '["é"]', "'[\"é\"]'"),
        ("json", "null", "NULL"),
    ],
)
def test_values_become_literals(small: Path, kind: str, value: str, literal: str) -> None:
    edit(small, FILE, "param least: integer", f"param least: {kind}")
    rendered = selectq("render", "selection/pools", "--engine", "postgresql", "--param", f"least={value}")
    assert f"WHERE slots >= {literal}\n" in rendered.stdout


# check


def test_check_finds_nothing() -> None:
    checked = selectq("check")
    count = len(list(default_catalogue()))
    assert (checked.exit_code, checked.stdout) == (0, f"{count} files, nothing found.\n")
    assert selectq("check", "--json").stdout == ""


def test_check_exits_with_1_if_it_finds_something(copied: Path) -> None:
    file = "mysql/selection/claim.v1.sql"
    edit(copied, file, "l.max_active_tasks\n", "l.max_active\n")
    checked = selectq("check")
    assert (checked.exit_code, checked.stdout) == (1, f"{file}: l.max_active: no such column\n")
    as_json = selectq("check", "--json")
    assert as_json.exit_code == 1
    assert lines_of_json(as_json) == [{"file": file, "problem": "l.max_active: no such column"}]


def test_check_goes_on_behind_a_file_that_cannot_be_read(copied: Path) -> None:
    edit(copied, "mysql/selection/claim.v1.sql", "-- version: 1", "-- version: one")
    edit(copied, "postgresql/selection/claim.v1.sql", "-- locks: the", "-- locks: none; the")
    assert len(selectq("check").stdout.splitlines()) >= 2


# diff


def test_diff(small: Path) -> None:
    second_version(small)
    done = selectq("diff", "selection/pools", "1", "2")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[:2] == [f"--- {FILE}", "+++ postgresql/selection/pools.v2.sql"]
    changed = [line for line in done.stdout.splitlines() if line[0] in "+-"][2:]
    assert changed == ["--- version: 1", "+-- version: 2", "-ORDER BY pool", "+ORDER BY slots"]
    assert selectq("diff", "selection/pools", "2", "2").stdout == ""


def test_diff_of_a_query_with_one_version() -> None:
    refused = selectq("diff", "selection/claim", "1", "2", "--engine", "mysql")
    assert refused.exit_code == 2
    assert refused.stderr == "Error: no version 2 of 'selection/claim' for mysql; there are: 1\n"


# generate


def test_generated_files_are_up_to_date() -> None:
    done = selectq("generate", "--check")
    assert (done.exit_code, done.stdout) == (0, "Everything is up to date.\n")


def test_generate_writes_what_is_outdated(copied: Path) -> None:
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    (copied / "mysql/selection/open_pools.v1.sql").unlink()
    edit(copied, "postgresql/selection/usage_by_pool.v1.sql", "-- purpose: Slots", "-- purpose: All slots")
    edit(copied, "CATALOGUE.md", "Pools", "Pool")
    outdated = {
        "mysql/selection/open_pools.v1.sql",
        "postgresql/selection/usage_by_pool.v1.sql",
        "CATALOGUE.md",
    }
    checked = selectq("generate", "--check")
    assert checked.exit_code == 1
    assert set(checked.stdout.splitlines()) == {f"outdated: {file}" for file in outdated}
    assert not (copied / "mysql/selection/open_pools.v1.sql").exists()

    written = selectq("generate", "--json")
    assert written.exit_code == 0
    assert {row["file"] for row in lines_of_json(written)} == outdated
    assert all(row["written"] for row in lines_of_json(written))
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == before
    assert selectq("generate").stdout == "Everything is up to date.\n"


def test_the_page_is_of_the_files_as_they_will_be(copied: Path) -> None:
    page = (copied / "CATALOGUE.md").read_bytes()
    edit(copied, "postgresql/selection/usage_by_pool.v1.sql", "-- purpose: Slots", "-- purpose: All slots")
    assert selectq("generate").stdout == "written: postgresql/selection/usage_by_pool.v1.sql\n"
    assert (copied / "CATALOGUE.md").read_bytes() == page


def test_generate_needs_a_source_tree(copied: Path) -> None:
    (copied.parent / "pyproject.toml").unlink()
    refused = selectq("generate")
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"Error: {copied} belongs to an installed selectq; run this in a clone")
    assert selectq("generate", "--check").exit_code == 0


def test_generate_needs_to_write(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    refused = selectq("generate")
    assert (refused.exit_code, refused.stderr) == (2, f"Error: {copied} can't be written to\n")


def test_generate_stops_at_a_file_that_cannot_be_read(copied: Path) -> None:
    edit(copied, "mysql/selection/claim.v1.sql", "-- version: 1", "-- version: one")
    refused = selectq("generate")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("Error: mysql/selection/claim.v1.sql: header says selection/claim version one")


# names


@pytest.mark.parametrize("arguments", [["show"], ["diff"], ["render", "--engine", "mysql"]])
def test_an_unknown_name(arguments: list[str]) -> None:
    versions = ["1", "1"] if arguments == ["diff"] else []
    refused = selectq(arguments[0], "selection/clam", *versions, *arguments[1:])
    assert refused.exit_code == 2
    assert "no query 'selection/clam' for" in refused.stderr
    assert "selection/claim" in refused.stderr


def test_names_are_completed() -> None:
    environment = {
        **os.environ,
        "_SELECTQ_COMPLETE": "bash_complete",
        "COMP_WORDS": "selectq sql show selection/u",
        "COMP_CWORD": "3",
    }
    script = (sys.executable, "-m", "selectq")
    done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == {
        "selection/usage_by_dag_run",
        "selection/usage_by_pool",
        "selection/usage_by_task",
    }


def test_mysql_has_its_twin(small: Path) -> None:
    assert selectq("show", "selection/pools", "--engine", "mysql").stdout == (small / TWIN).read_text()
