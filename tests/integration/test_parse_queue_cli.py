"""``selectq parse-queue``: what it prints, what it runs, how it ends."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from selectq.cli import main
from selectq.errors import InvalidParameterError
from selectq.parsing import Arrival, ParseQueue, Settings
from selectq.parsing.drain import Drain
from selectq.schema import metadata

READER = """\
import json, os, sys
callbacks = [json.loads(line) for line in sys.stdin]
print(os.environ["SELECTQ_BUNDLE"], os.environ["SELECTQ_PARSE"])
for callback in callbacks:
    print(callback["kind"], callback["payload"])
if "bad" in sys.argv[-1]:
    print("first line\\nSyntaxError: é", file=sys.stderr)
    sys.exit(3)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "dags"
    made.mkdir()
    (made / "good.py").write_text("x = 1\n")
    (made / "bad.py").write_text("x = (\n")
    (tmp_path / "reader.py").write_text(READER)
    return made


def run(url: str, *arguments: object) -> Result:
    return CliRunner().invoke(main, ["parse-queue", *map(str, arguments)], env={"SELECTQ_DB": url})


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_scan_status_drain(engine: sa.Engine, engine_url: str, folder: Path) -> None:
    assert run(engine_url, "scan", folder, "--bundle", "b").stdout == "2 files: 2 new, 0 changed, 0 deleted.\n"
    ParseQueue(engine).enqueue([Arrival("b", "good.py", kind, kind) for kind in ("dag_callback", "sla_callback")])
    [found] = lines(run(engine_url, "status", "--waiting", 9, "--json"))
    assert [lane["depth"] for lane in found["metrics"]["lanes"]] == [0, 1, 2]
    assert [(row["lane"], row["path"]) for row in found["waiting"]] == [
        ("priority", "good.py"),
        ("standard", "bad.py"),
        ("standard", "good.py"),
    ]

    reader = folder.parent / "reader.py"
    done = run(engine_url, "drain", "--json", "--slots", 1, "--folder", folder, "python", reader)
    assert done.exit_code == 1, done.output
    good, bad = lines(done)
    assert (good["path"], good["error"], good["callbacks"], good["lane"]) == ("good.py", None, 2, "priority")
    assert good["dag_ids"] == ["b 1", "dag_callback dag_callback", "sla_callback sla_callback"]
    assert (bad["path"], bad["error"], bad["dag_ids"]) == ("bad.py", "first line\nSyntaxError: é", [])
    table = metadata.tables["dag_file"]
    with engine.connect() as connection:
        rows = {row.path: row for row in connection.execute(sa.select(table))}
    assert rows["good.py"].dag_ids == good["dag_ids"]
    assert rows["bad.py"].last_error == bad["error"]

    again = run(engine_url, "drain", "--folder", folder, "python", reader)
    assert (again.exit_code, again.stdout) == (0, "0 files read, 0 failed.\n")
    shown = run(engine_url, "status")
    assert shown.stdout.splitlines()[-1].startswith("files 2, being_read 0, outstanding 0, refills ")


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_errors_are_told_in_a_line_each(engine_url: str, folder: Path) -> None:
    run(engine_url, "scan", folder)
    done = run(engine_url, "drain", "--folder", folder, "python", folder.parent / "reader.py")
    assert done.exit_code == 1
    assert done.stdout == "2 files read, 1 failed.\n"
    assert done.stderr == "bad.py: SyntaxError: é\n"


@pytest.mark.parametrize("engine_name", ["postgresql", "mysql"])
def test_commands_that_hang_or_do_not_exist(engine_url: str, folder: Path) -> None:
    run(engine_url, "scan", folder)
    began = time.monotonic()
    done = run(engine_url, "drain", "--json", "--timeout", 0.5, "sh", "-c", "sleep 60 & wait")
    assert time.monotonic() - began < 20
    assert [row["error"] for row in lines(done)] == ["took longer than 0.5 seconds"] * 2
    os.utime(folder / "good.py", (1, 1))
    run(engine_url, "scan", folder)
    [missing] = lines(run(engine_url, "drain", "--json", "no-such-program"))
    assert missing["error"] == "no-such-program: No such file or directory"


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_what_is_wrong_is_named(engine: sa.Engine, engine_url: str, folder: Path) -> None:
    refused = run(engine_url, "drain", "--callback-share", 2, "true")
    assert (refused.exit_code, refused.stderr) == (2, "Error: callback_share: must be a number from 0 to 1, not 2.0\n")
    assert "Missing option '--db'" in CliRunner().invoke(main, ["parse-queue", "status"]).output
    assert run(engine_url, "scan", folder / "absent").exit_code == 2
    with pytest.raises(InvalidParameterError, match="timeout: must be above 0 and below the queue's"):
        Drain(ParseQueue(engine, Settings(timeout=5)), ["true"], None, 1, 5)


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_without_tables(empty_engine_url: str) -> None:
    refused = run(empty_engine_url, "status")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("Error: there are no selectq tables in this database")
