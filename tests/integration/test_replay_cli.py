"""``selectq replay``: exit codes, output for people and for programs, and what it leaves on the server."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from selectq import schema, scratch
from selectq.cli import main
from selectq.scenario import replay as replaying
from selectq.scenario.load import load
from selectq.scenario.model import Scenario
from tests.case_worlds import CASES

RIGHT = CASES / "wide-task-overtaken-by-narrow.yaml"
UNSUPPORTED = CASES / "teardown-follows-its-setup.yaml"


@pytest.fixture
def differing(tmp_path: Path) -> Path:
    """A case that expects the wrong row in its first step."""
    path = tmp_path / "differing.yaml"
    text = RIGHT.read_text().replace("- {dag_id: dag_a, run_id: r1, task_id: narrow, map_index: 0}", "", 1)
    path.write_text(text.replace("  selected:\n    \n", "  selected: []\n", 1).replace(RIGHT.stem, "differing"))
    return path


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.yaml"
    path.write_text(RIGHT.read_text().replace("slots: 2", "slots: two"))
    return path


def run(*arguments: object, db: str | None = None) -> Result:
    options = ["--db", db] if db else []
    return CliRunner().invoke(main, ["replay", *map(str, arguments), *options])


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Schemas or databases that replays of the test have worked in."""
    used = []

    def spy(connection: sa.Connection, scenario: Scenario) -> None:
        used.append(sa.inspect(connection).default_schema_name)
        load(connection, scenario)

    monkeypatch.setattr(replaying, "load", spy)
    return used


def assert_dropped(places: list[str], engine: sa.Engine) -> None:
    (place,) = places
    assert place.startswith(scratch.PREFIX)
    with engine.connect() as connection:
        assert place not in sa.inspect(connection).get_schema_names()


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_all_as_expected(engine: sa.Engine, engine_url: str) -> None:
    result = run(RIGHT, CASES / "tie-order-is-byte-order.yaml", db=engine_url)
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "ok      wide-task-overtaken-by-narrow (4 steps)\n"
        "ok      tie-order-is-byte-order\n"
        f"2 of 2 as expected on {engine.dialect.name}\n"
    )
    assert result.stderr == ""


def test_differences_are_listed_below_the_case(engine: sa.Engine, engine_url: str, differing: Path) -> None:
    result = run(differing, RIGHT, db=engine_url)
    assert result.exit_code == 1, result.output
    assert result.stdout == (
        "differs differing (4 steps)\n"
        "        step 1: (dag_a, r1, narrow, 0) was selected, but should not have been\n"
        "ok      wide-task-overtaken-by-narrow (4 steps)\n"
        f"1 of 2 as expected on {engine.dialect.name}, 1 differs\n"
    )


def test_wrong_files_are_named_and_the_others_run(engine_url: str, wrong: Path, differing: Path) -> None:
    result = run(wrong, UNSUPPORTED, "absent.yaml", RIGHT, differing, db=engine_url)
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"error   {wrong}: pools[0].slots: expected a whole number from -1 to 2147483647, found the text 'two'",
        f"error   {UNSUPPORTED}: kind: expected select or filequeue, found trigger, which is not supported yet",
        "error   absent.yaml: expected a scenario file, found none to read: No such file or directory",
    ]
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["ok", "differs", "step", "1"]
    assert result.stdout.splitlines()[-1].endswith("1 differs, 3 not run")


def test_json_has_a_line_per_file(engine: sa.Engine, engine_url: str, wrong: Path, differing: Path) -> None:
    result = run(RIGHT, wrong, differing, "--json", db=engine_url)
    assert result.exit_code == 2
    right, error, difference = lines(result)
    wide, narrow = ["dag_a", "r1", "wide", -1], ["dag_a", "r1", "narrow", 1]
    assert right == {
        "case": RIGHT.stem,
        "engine": engine.dialect.name,
        "ok": True,
        "steps": [
            {
                "selected": [["dag_a", "r1", "narrow", 0]],
                "blocked": [{"key": narrow, "by": ["pool"]}, {"key": wide, "by": ["pool"]}],
            },
            {"selected": [narrow], "blocked": [{"key": wide, "by": ["pool"]}]},
            {"selected": [], "blocked": [{"key": wide, "by": ["pool"]}]},
            {"selected": [wide], "blocked": []},
        ],
        "differences": [],
    }
    assert (error["ok"], error["file"], error["engine"]) == (False, str(wrong), engine.dialect.name)
    assert "pools[0].slots: expected a whole number" in error["error"]
    assert error["error"] in result.stderr
    assert difference["differences"] == ["step 1: (dag_a, r1, narrow, 0) was selected, but should not have been"]
    assert not difference["ok"]


def test_only_what_is_ours_is_touched(engine: sa.Engine, engine_url: str, places: list[str]) -> None:
    table = schema.metadata.tables["dag"]
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"dag_id": "mine"}])
    assert run(RIGHT, db=engine_url).exit_code == 0
    with engine.connect() as connection:
        assert connection.scalars(sa.select(table.c.dag_id)).all() == ["mine"]
    assert_dropped(places, engine)


@pytest.mark.parametrize(("raised", "exit_code"), [(KeyboardInterrupt, 130), (RuntimeError, 1)])
def test_nothing_is_left_behind_when_it_is_cut_short(
    engine: sa.Engine,
    engine_url: str,
    monkeypatch: pytest.MonkeyPatch,
    places: list[str],
    raised: type[BaseException],
    exit_code: int,
) -> None:
    def fail(connection: sa.Connection, step: object) -> None:
        raise raised

    monkeypatch.setattr(replaying, "run_step", fail)
    assert run(RIGHT, db=engine_url).exit_code == exit_code
    assert_dropped(places, engine)


def test_without_db_an_embedded_postgres_is_started() -> None:
    result = run(RIGHT)
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("1 of 1 as expected on postgresql\n")


def test_wrong_files_alone_need_no_server(wrong: Path) -> None:
    result = run(wrong, "--json", db="mysql://nobody@127.0.0.1:1/none")
    assert result.exit_code == 2
    assert [line["engine"] for line in lines(result)] == ["mysql"]


@pytest.mark.parametrize(
    ("db", "message"),
    [
        ("postgresql://nobody@127.0.0.1:1/none", "Error: db: cannot connect to "),
        ("sqlite://", "Error: db: 'sqlite' is not supported"),
        ("nonsense", "Error: db: not a database URL"),
    ],
)
def test_no_such_server(db: str, message: str) -> None:
    result = run(RIGHT, db=db)
    assert result.exit_code == 2
    assert result.stderr.startswith(message)
    assert result.stdout == ""


@pytest.fixture
def powerless(engine: sa.Engine) -> Iterator[str]:
    """URL of a user who may log in and nothing else."""
    name = f"powerless_{secrets.token_hex(4)}"
    on_mysql = engine.dialect.name == "mysql"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"CREATE USER {name} {'IDENTIFIED BY' if on_mysql else 'PASSWORD'} 'pw'")
        url = engine.url.set(username=name, password="pw")
        if on_mysql:
            url = url.set(database="information_schema")
        yield url.render_as_string(hide_password=False)
        connection.exec_driver_sql(f"DROP USER {name}")


def test_a_user_without_the_right_to_create(powerless: str) -> None:
    result = run(RIGHT, db=powerless)
    assert result.exit_code == 2
    assert "Error: db: cannot create " in result.stderr
    assert ":pw@" not in result.stderr


def test_help_has_an_example() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "selectq replay tests/cases/" in result.stdout
