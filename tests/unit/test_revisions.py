"""The shipped migrations as files: named by release and order, and frozen."""

from __future__ import annotations

import ast
import re
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

import selectq
from selectq.errors import InvalidParameterError
from selectq.migrate import render_sql
from selectq.revisions import alembic_config, position, revisions

FILES = sorted((Path(selectq.__file__).parent / "migrations" / "versions").glob("*.py"))


def test_the_package_finds_its_migrations_without_an_ini_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert revisions()
    assert len(ScriptDirectory.from_config(alembic_config()).get_heads()) == 1


def test_files_are_named_by_release_and_order() -> None:
    assert [re.match(r"(v\d+_\d+_\d+_\d\d)_[a-z0-9_]+$", path.stem).group(1) for path in FILES] == list(revisions())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_migration_does_not_depend_on_code_that_changes(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    imported += [node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in imported} <= {"__future__", "alembic", "sqlalchemy", "typing"}


def test_positions_count_migrations() -> None:
    known = revisions()
    assert [position(name) for name in (None, "base", *known, "head")] == [0, 0, *range(1, len(known) + 1), len(known)]
    with pytest.raises(InvalidParameterError, match="revision: 'v9' is unknown; expected head, base or one of"):
        position("v9")


def test_printed_sql_needs_no_server_and_names_its_version() -> None:
    for dialect in ("postgresql", "mysql"):
        up = render_sql(dialect)
        assert "CREATE TABLE task_instance" in up
        assert f"'{revisions()[-1]}'" in up
        assert render_sql(dialect, revisions()[-1]) == up
        assert "DROP TABLE selectq_alembic_version" in render_sql(dialect, "base")


def test_threads_do_not_mix_up_their_migrations() -> None:
    dialects = ["postgresql", "mysql"] * 20
    alone = {dialect: render_sql(dialect) for dialect in dialects}
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(render_sql, dialects))
    assert together == [alone[dialect] for dialect in dialects]


@pytest.mark.parametrize("dialect", ["sqlite", "postgres", ""])
def test_printed_sql_for_another_dialect(dialect: str) -> None:
    with pytest.raises(
        InvalidParameterError, match=f"dialect: '{dialect}' is unknown; expected one of: postgresql, my"
    ):
        render_sql(dialect)


def test_squawk_finds_nothing_in_the_postgres_migrations(tmp_path: Path) -> None:
    script = tmp_path / "migrations.sql"
    script.write_text(render_sql("postgresql"), encoding="utf-8")
    excluded = (
        "prefer-text-field",  # lengths are those of Airflow, and MySQL has to have some
        "prefer-bigint-over-int",  # Airflow's types
        "require-lock-timeout",  # how long to wait is for whoever runs it to say
        "require-statement-timeout",
    )
    squawk = Path(sysconfig.get_path("scripts")) / "squawk"
    command = [squawk, "--pg-version=15", *(f"--exclude={rule}" for rule in excluded), script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
