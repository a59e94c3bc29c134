"""Every query file prepared by a real server, and faults that only a server can find."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from selectq import catalogue
from selectq.catalogue import ROOT
from selectq.checks import check_database
from selectq.cli import main
from selectq.errors import SchemaVersionError
from selectq.schema import build_metadata
from tests.query_files import FILE, TWIN, edit, put, small_tree

OURS = {"postgresql": FILE, "mysql": TWIN}
ON_POSTGRESQL = pytest.mark.parametrize("engine_name", ["postgresql", "postgresql15"])
ON_MYSQL = pytest.mark.parametrize("engine_name", ["mysql"])


def problems(engine: sa.Engine, root: Path) -> list[str]:
    with engine.connect() as connection:
        findings = check_database(connection, root)
    assert {finding.file for finding in findings} <= {OURS[engine.dialect.name]}
    return [finding.problem for finding in findings]


def plant(root: Path, engine: sa.Engine, old: str, new: str) -> Path:
    edit(small_tree(root), OURS[engine.dialect.name], old, new)
    return root


def test_every_statement_is_accepted_as_declared(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        assert check_database(connection, ROOT) == []


def test_nothing_is_found_in_the_small_tree(engine: sa.Engine, tmp_path: Path) -> None:
    assert problems(engine, small_tree(tmp_path)) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("FROM slot_pool", "FROM slot_pol", "slot_pol"),
        ("SELECT pool,", "SELECT pol AS pool,", "pol"),
        ("WHERE slots", "WHERE slotz", "slotz"),
        ("ORDER BY pool", "ORDER BY pool BY", "syntax"),
        ("SELECT pool,", "SELECT uper(pool) AS pool,", "uper"),
    ],
)
def test_what_the_server_refuses(engine: sa.Engine, tmp_path: Path, old: str, new: str, words: str) -> None:
    [problem] = problems(engine, plant(tmp_path, engine, old, new))
    assert problem.startswith("the server refuses it: ")
    assert words in problem
    assert "\n" not in problem


def test_a_refused_statement_hides_no_other(engine: sa.Engine, tmp_path: Path) -> None:
    root = plant(tmp_path, engine, "FROM slot_pool", "FROM slot_pol")
    second = (root / OURS[engine.dialect.name]).read_text().replace("version: 1", "version: 2")
    put(root, OURS[engine.dialect.name].replace("v1", "v2"), second.replace("slot_pol", "slots_pool"))
    with engine.connect() as connection:
        found = check_database(connection, root)
    assert [("slot_pol" in finding.problem, "slots_pool" in finding.problem) for finding in found] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("column slots: integer", "column slots: text", "column slots is declared text, the server returns "),
        ("column pool: text", "column pool: json", "column pool is declared json, the server returns "),
        ("column pool: text", "column pool: uuid; x\n-- column more: text", "columns: pool, more, slots are declared"),
        ("SELECT pool, slots", "SELECT pool, slots AS n", "columns: pool, slots are declared, the server"),
    ],
)
def test_columns_are_as_declared(engine: sa.Engine, tmp_path: Path, old: str, new: str, problem: str) -> None:
    [found] = problems(engine, plant(tmp_path, engine, old, new))
    assert found.startswith(problem)


@ON_POSTGRESQL
def test_parameters_are_as_declared(engine: sa.Engine, tmp_path: Path) -> None:
    root = plant(tmp_path, engine, "param least: integer", "param least: timestamp")
    assert problems(engine, root) == ["parameter least is declared timestamp, the server takes int4"]


@ON_POSTGRESQL
def test_a_column_of_mysql_alone(engine: sa.Engine, tmp_path: Path) -> None:
    root = plant(tmp_path, engine, "WHERE", "WHERE pool NOT IN (SELECT pool FROM task_instance WHERE undated) AND")
    assert problems(engine, root) == ['the server refuses it: column "undated" does not exist']


@ON_MYSQL
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        # sqlglot accepts both.
        ("SELECT pool,", "SELECT pool::text AS pool,", "the server refuses it: You have an error in your SQL syntax"),
        ("ORDER BY pool", "ORDER BY pool NULLS LAST", "the server refuses it: You have an error in your SQL syntax"),
        ("FROM slot_pool", "FROM slot_pool FORCE INDEX (ix)", "the server refuses it: Key 'ix' doesn't exist in table"),
        ("SELECT pool", "SELECT /*+ NO_BLN() */ pool", "the server warns: Optimizer hint syntax error near 'NO_BLN()"),
        ("SELECT pool", "SELECT /*+ INDEX(slot_pool ix) */ pool", "the server warns: Unresolved "),
        ("SELECT pool", "SELECT /*+ NO_BNL(x) */ pool", "the server warns: Unresolved name `x`"),
    ],
)
def test_what_mysql_alone_can_tell(engine: sa.Engine, tmp_path: Path, old: str, new: str, problem: str) -> None:
    [found] = problems(engine, plant(tmp_path, engine, old, new))
    assert found.startswith(problem)


def test_without_the_tables(empty_engine: sa.Engine) -> None:
    with empty_engine.connect() as connection, pytest.raises(SchemaVersionError, match="selectq migrate"):
        check_database(connection, ROOT)


def test_rows_that_others_lock_are_not_waited_for(engine: sa.Engine) -> None:
    tables = build_metadata(engine.dialect.name).tables
    patience = "innodb_lock_wait_timeout = 1" if engine.dialect.name == "mysql" else "lock_timeout = '1s'"
    with engine.begin() as other:
        other.execute(tables["slot_pool"].insert(), {"pool": "p", "slots": 1})
    with engine.connect() as other, engine.connect() as connection:
        other.execute(tables["slot_pool"].update().values(slots=2))
        connection.exec_driver_sql(f"SET SESSION {patience}")
        connection.commit()
        assert check_database(connection, ROOT) == []
        assert not connection.in_transaction()
        other.rollback()
    with engine.connect() as connection:
        assert connection.scalar(sa.select(tables["slot_pool"].c.slots)) == 1


def selectq_check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["sql", "check", *arguments], env={"SELECTQ_DB": ""})


def test_check_with_a_server(engine_url: str) -> None:
    checked = selectq_check("--db", engine_url)
    assert (checked.exit_code, checked.stderr) == (0, "")
    assert checked.stdout.endswith(" files, nothing found.\n")


def test_check_tells_what_the_server_found(
    engine: sa.Engine, engine_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "ROOT", plant(tmp_path, engine, "SELECT pool,", "SELECT uper(pool) AS pool,"))
    checked = selectq_check("--db", engine_url)
    assert checked.exit_code == 1
    assert f"{OURS[engine.dialect.name]}: the server refuses it: " in checked.stdout


def test_check_without_the_tables(empty_engine_url: str) -> None:
    refused = selectq_check("--db", empty_engine_url)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("Error: there are no selectq tables in this database")
