"""What the quick benchmark prints and writes, and what it refuses."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import quick
from benchmarks.measure import Measured, WrongResultError, same
from benchmarks.reads import Reads
from benchmarks.report import END, START, Report, update_readme
from benchmarks.timing import Times
from benchmarks.workloads import Uniform
from selectq.errors import SelectqError

ONE, OTHER = ("dag", "run", "one", -1), ("dag", "run", "other", -1)


def measured(pages: int | None) -> Measured:
    return Measured(
        claimed=512,
        holders=88,
        whole=Times((30.0, 25.0, 40.2)),
        update=Times((10.0, 12.0, 11.0)),
        select=Times((20.0, 20.0, 21.0)),
        statements=3,
        rows_fetched=1027,
        reads=(Reads("selection/select_executable.v1", 5000, pages), Reads("selection/claim.v1", 700, pages)),
    )


REPORT = Report(
    workload=Uniform(),
    servers={"postgresql": "PostgreSQL 18.6", "mysql": "MySQL 9.7.4"},
    measured={"postgresql": measured(4000), "mysql": measured(None)},
    date=datetime.date(2026, 5, 4),
    cores=2,
)
MARKDOWN = """\
| 100,000 scheduled, 1,000 runs | PostgreSQL 18.6 | MySQL 9.7.4 |
| --- | ---: | ---: |
| select + claim of 512 | 30 ms (25-40) | 30 ms (25-40) |
| bare UPDATE of the same 512 rows | 11 ms (10-12) | 11 ms (10-12) |
| ratio of the medians | 2.7 | 2.7 |
| select alone | 20 ms (20-21) | 20 ms (20-21) |
| statements per pass | 3 | 3 |
| rows fetched per pass | 1,027 | 1,027 |
| rows read by the server, select alone | 5,000 | 5,000 |
| rows read by the server, whole pass | 5,700 | 5,700 |
| pages read by the server, whole pass | 8,000 | - |"""
CONDITIONS = "`make bench-quick`, 2026-05-04, 2 cores: medians of 3 (lowest to highest), each rolled back."


def test_markdown() -> None:
    assert REPORT.markdown() == MARKDOWN
    assert REPORT.conditions == CONDITIONS


def test_json_has_every_repetition() -> None:
    found = json.loads(json.dumps(REPORT.as_json()))
    assert found["workload"] == {"name": "uniform", "rows": 100_000, "seed": 1, "history": 0}
    engine = found["engines"]["postgresql"]
    assert engine["whole"]["runs"] == [30.0, 25.0, 40.2]
    assert engine["medians"] == {"whole": 30.0, "update": 11.0, "select": 20.0}
    assert engine["reads"][0]["query"] == "selection/select_executable.v1"


def test_the_readme_keeps_what_is_around_the_table(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"# Project\n{START}\nold\n{END}\nmore\n")
    update_readme(readme, REPORT)
    update_readme(readme, REPORT)
    assert readme.read_text() == f"# Project\n{START}\n{MARKDOWN}\n\n{CONDITIONS}\n{END}\nmore\n"


@pytest.mark.parametrize("text", ["", START, END, f"{END} {START}", f"{START} {START} {END}", f"{START} {END} {END}"])
def test_a_readme_without_its_markers_is_left_alone(tmp_path: Path, text: str) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(text)
    with pytest.raises(SelectqError, match="README.md must have <!-- bench-quick -->"):
        update_readme(readme, REPORT)
    assert readme.read_text() == text


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([ONE], "select: 1 rows instead of 2"),
        ([ONE, OTHER, ONE], "select: 3 rows instead of 2"),
        ([OTHER, ONE], "select: row 0 is .* instead of"),
    ],
)
def test_a_wrong_result_ends_the_run(found: list[tuple[str, str, str, int]], message: str) -> None:
    with pytest.raises(WrongResultError, match=message):
        same([ONE, OTHER], found, "select")


@pytest.mark.parametrize("rows", ["0", "999", "1500"])
def test_rows_that_make_no_whole_dags(rows: str) -> None:
    result = CliRunner().invoke(quick.main, ["--rows", rows])
    assert result.exit_code == 2
    assert "rows must be a multiple of 1,000" in result.output


def test_a_server_that_does_not_answer() -> None:
    url = "postgresql://postgres:secret@127.0.0.1:1/postgres"
    result = CliRunner().invoke(quick.main, ["--engine", "postgresql", "--url-postgresql", url])
    assert result.exit_code == 2
    assert "Error: " in result.output
    assert "secret" not in result.output
