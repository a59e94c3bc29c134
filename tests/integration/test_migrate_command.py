"""``selectq migrate`` as it is typed."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from selectq import migrate
from selectq.cli import main
from selectq.revisions import revisions
from tests.schema_dump import dump

HEAD = revisions()[-1]


def selectq(*arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, ["migrate", *arguments], env=env)


def test_up_status_and_down(empty_engine: sa.Engine, empty_engine_url: str) -> None:
    nothing = dump(empty_engine)
    db = ("--db", empty_engine_url)

    before = selectq(*db, "--status")
    assert before.exit_code == 0
    assert before.stdout.splitlines() == [
        "There are no selectq tables in this database; run: selectq migrate --db URL.",
        f"To apply: {', '.join(revisions())}",
    ]
    assert dump(empty_engine) == nothing

    done = selectq(*db)
    assert (done.exit_code, done.stdout) == (0, f"The tables are at {HEAD}, the newest revision.\n")
    assert selectq(*db).stdout == done.stdout
    assert selectq(*db, "--status").stdout == done.stdout

    assert selectq(*db, "--to", "base").exit_code == 0
    assert dump(empty_engine) == nothing
    assert selectq("--to", HEAD, env={"SELECTQ_DB": empty_engine_url}).stdout == done.stdout


def test_json(empty_engine: sa.Engine, empty_engine_url: str) -> None:
    db = ("--db", empty_engine_url, "--json")
    assert json.loads(selectq(*db, "--status").stdout) == {
        "current": None,
        "head": HEAD,
        "pending": list(revisions()),
        "state": "empty",
        "tables": [],
    }
    done = json.loads(selectq(*db).stdout)
    assert (done["current"], done["state"], done["pending"]) == (HEAD, "current", [])


def test_foreign_schema_is_refused(empty_engine: sa.Engine, empty_engine_url: str) -> None:
    sa.Table("dag", sa.MetaData(), sa.Column("dag_id", sa.Integer, primary_key=True)).create(empty_engine)
    before = dump(empty_engine)

    refused = selectq("--db", empty_engine_url)

    assert refused.exit_code == 2
    assert refused.stderr.startswith(
        "Error: tables of these names are here already, but selectq did not make them: dag."
    )
    assert refused.stdout == ""
    assert dump(empty_engine) == before
    seen = selectq("--db", empty_engine_url, "--status")
    assert (seen.exit_code, seen.stdout[:28]) == (0, "Tables of these names are he")


@pytest.mark.parametrize("dialect", ["postgresql", "mysql"])
def test_sql_connects_nowhere(dialect: str) -> None:
    by_dialect = selectq("--sql", "--dialect", dialect)
    assert (by_dialect.exit_code, by_dialect.stdout) == (0, migrate.render_sql(dialect))
    assert selectq("--sql", "--db", f"{dialect}://nobody@127.0.0.1:1/none").stdout == by_dialect.stdout
    assert selectq("--sql", "--to", "base", "--dialect", dialect).stdout == migrate.render_sql(dialect, "base")
    assert json.loads(selectq("--sql", "--json", "--dialect", dialect).stdout) == {
        "dialect": dialect,
        "revision": "head",
        "sql": by_dialect.stdout,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '--db' (or the environment variable SELECTQ_DB)."),
        (["--status"], "Missing option '--db'"),
        (["--sql"], "--sql needs --dialect or --db."),
        (["--sql", "--status"], "--sql and --status exclude each other."),
        (["--dialect", "mysql", "--db", "mysql://u@127.0.0.1:1/x"], "--dialect is for --sql."),
        (["--sql", "--dialect", "mysql", "--to", "v9"], "Error: revision: 'v9' is unknown; expected head, base or one"),
        (["--sql", "--db", "sqlite://"], "Error: db: 'sqlite' is not supported"),
        (["--db", "oracle://x"], "Error: db: 'oracle' is not supported"),
        (["--db", "no url"], "Error: db: not a database URL"),
        (
            ["--db", "mysql://u:secret@127.0.0.1:1/x"],
            "Error: db: cannot connect to mysql+pymysql://u:***@127.0.0.1:1/x",
        ),
        (["--db", "postgres://127.0.0.1:1/x", "--status"], "Error: db: cannot connect to postgresql+psycopg://127"),
    ],
)
def test_mistakes_end_with_2_and_one_message(arguments: list[str], message: str) -> None:
    done = selectq(*arguments, env={"SELECTQ_DB": ""})
    assert done.exit_code == 2
    assert message in done.stderr
    assert "secret" not in done.output
    assert done.stdout == ""


def test_help_has_an_example() -> None:
    shown = selectq("--help")
    assert shown.exit_code == 0
    assert "selectq migrate --sql --dialect mysql > selectq.sql" in shown.stdout
