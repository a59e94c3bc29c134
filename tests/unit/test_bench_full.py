"""What a full benchmark writes, reads again and shows."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import full, results, summary
from benchmarks.measure import Explained, Measured
from benchmarks.reads import Reads
from benchmarks.results import Place, Point, Results
from benchmarks.targets import verdicts
from benchmarks.timing import Times
from benchmarks.workloads import WORKLOADS, WorkloadOptionError
from benchmarks.workloads.floods import Floods

DATE = datetime.date(2026, 5, 4)
MEASURED = Measured(
    claimed=512,
    holders=88,
    whole=Times((30.0, 25.0, 40.2)),
    update=Times((10.0, 12.0, 11.0)),
    select=Times((20.0, 20.0, 21.0)),
    statements=3,
    rows_fetched=1027,
    reads=(Reads("selection/select_executable.v1", 5000, 9, {"task_instance": 5000}),),
)
EXPLAINED = Explained(select=Times((20.0,)), blocked=None, deep=Times((30.0,)))
GOOD = Point(Place("uniform", 10_000, 0), 1, 0.5, MEASURED, EXPLAINED)
WRONG = Point(Place("floods", 10_000, 100), 1, 0.5, wrong="select: 1 rows instead of 2")
LINES = """\
| workload | scheduled | history | started | select + claim | bare UPDATE | ratio | select | why, blocked | why, deep \
| round trips | reads | bound |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| uniform | 10,000 | 0 | 512 | 30 (25-40) | 11 (10-12) | 2.7 | 20 (20-21) | - | 30 (30-30) | 3 | 5,000 | 12,000 |
| floods | 10,000 | 100 | wrong | - | - | - | - | - | - | - | - | - |"""


def found(engine: str = "postgresql", date: datetime.date = DATE) -> Results:
    return Results(engine, f"Server of {engine}", date, 2, 512, [GOOD, WRONG])


def test_results_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = found().write(tmp_path / "results")
    assert path.name == "2026-05-04-postgresql.json"
    assert results.read(path) == found()
    assert json.loads(path.read_text())["points"][0]["measured"]["whole"]["runs"] == [30.0, 25.0, 40.2]


def test_a_point_takes_the_place_of_an_earlier_one() -> None:
    of_both = found()
    again = Point(GOOD.place, 1, 0.7, MEASURED, EXPLAINED)
    of_both.add(again)
    assert of_both.points == [WRONG, again]


def test_the_newest_results_of_the_engine(tmp_path: Path) -> None:
    for engine, day in [("postgresql", 4), ("postgresql", 6), ("mysql", 9)]:
        found(engine, DATE.replace(day=day)).write(tmp_path)
    (tmp_path / "2026-05-08-peers-postgresql.json").write_text('{"rows": []}')
    newest = results.newest(tmp_path, "postgresql")
    assert newest
    assert newest.name == "2026-05-06-postgresql.json"
    assert results.newest(tmp_path / "none", "mysql") is None


def test_rows_of_peers_are_those_of_the_same_day(tmp_path: Path) -> None:
    (tmp_path / "2026-05-04-peers-mysql.json").write_text('{"rows": [{"scheduled": 10}]}')
    assert results.peer_rows(tmp_path, "mysql", DATE) == [{"scheduled": 10}]
    assert results.peer_rows(tmp_path, "mysql", DATE.replace(day=5)) == []
    assert results.peer_rows(tmp_path, "postgresql", DATE) == []


def test_markdown() -> None:
    text = summary.markdown([(found(), verdicts(found(), ["uniform"]))], {"postgresql": "img/a.svg"})
    assert "## Server of postgresql\n2026-05-04, 2 cores, batch of 512.\n" in text
    assert "| every result equals the straight walk's | all | floods, 10,000, 100 of history: select" in text
    assert "![Select + claim against backlog](img/a.svg)" in text
    assert text.endswith(LINES + "\n")


def report_only(folder: Path, *options: str) -> tuple[int, str]:
    places = ["--results", str(folder), "--images", str(folder / "img")]
    done = CliRunner().invoke(full.main, ["--report-only", *places, *options])
    return done.exit_code, done.output


def test_a_report_from_files_alone(tmp_path: Path) -> None:
    Results("postgresql", "A", DATE, 2, 512, [GOOD]).write(tmp_path)
    Results("mysql", "B", DATE, 2, 512, [GOOD]).write(tmp_path)
    code, output = report_only(tmp_path)
    assert code == 0, output
    assert output.splitlines()[0] == "A"
    assert f"All figures: {tmp_path}/2026-05-04.md" in output
    assert "](img/bench-mysql.svg)" in (tmp_path / "2026-05-04.md").read_text()
    image = tmp_path / "img" / "bench-postgresql.svg"
    drawn = image.read_text()
    assert all(text in drawn for text in ("no history", "uniform", "bare UPDATE", "scheduled task instances"))
    report_only(tmp_path)
    assert image.read_text() == drawn


def test_a_wrong_result_is_reported_and_ends_with_an_error(tmp_path: Path) -> None:
    found().write(tmp_path)
    code, output = report_only(tmp_path, "--engine", "postgresql")
    assert code == 2
    assert "Error: wrong results; see above" in output
    assert (tmp_path / "2026-05-04.md").exists()


def test_a_report_of_nothing(tmp_path: Path) -> None:
    assert report_only(tmp_path) == (2, f"Error: no results in {tmp_path}: measure first\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rows", "1500"], "rows must be a multiple of 1,000, not 1,500"),
        (["--history", "50"], "history must be a multiple of 100, not 50"),
        (["--workload", "none"], "'none' is not one of 'uniform', 'hot-pool'"),
    ],
)
def test_sizes_that_there_are_not(options: list[str], message: str) -> None:
    done = CliRunner().invoke(full.main, options)
    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("options", [{"rows": 0}, {"rows": -1000}, {"rows": 10_100}, {"history": -100}])
def test_a_workload_refuses_a_size(name: str, options: dict[str, int]) -> None:
    with pytest.raises(WorkloadOptionError, match="must be a multiple of"):
        WORKLOADS[name](**options)


def test_floods_add_up_at_every_size() -> None:
    for rows in range(1000, 300_000, 1000):
        sizes = Floods(rows)
        assert sizes.floods * sizes.in_flood + sizes.grid_rows == rows
        assert sizes.dags * 100 == sizes.grid_rows
        assert sizes.floods % 10 == 0
