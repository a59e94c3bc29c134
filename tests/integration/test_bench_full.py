"""The full benchmark on small backlogs: that it measures, checks and reports, not how long that takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from benchmarks import check, full, measure, results, timing
from benchmarks.measure import WrongResultError
from benchmarks.workloads import WORKLOADS
from selectq import selection

ROWS, MAX_TIS = 1000, 40

BOTH = pytest.mark.parametrize("engine_name", ["postgresql", "mysql"])


@pytest.fixture(autouse=True)
def hardly_any_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "WARM_UP", dict.fromkeys(timing.WARM_UP, 1))


@BOTH
def test_the_command_measures_and_reports(engine_name: str, engine_url: str, tmp_path: Path) -> None:
    options = [f"--url-{engine_name}", engine_url, "--engine", engine_name, "--rows", "1000", "--history", "200"]
    places = ["--results", str(tmp_path), "--images", str(tmp_path)]

    def bench(*more: str) -> results.Results:
        done = CliRunner().invoke(full.main, [*options, *places, "--runs", "2", *more])
        assert done.exit_code == 0, done.output
        assert "repetitions" in done.output
        [path] = tmp_path.glob("*.json")
        return results.read(path)

    first = bench("--workload", "floods")
    [point] = first.points
    assert point.place == results.Place("floods", ROWS, 200)
    assert point.measured
    assert point.explained
    assert len(point.measured.whole.runs) == 2
    assert point.measured.statements <= 8
    assert point.explained.blocked
    assert point.explained.ratio > 0
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".md", ".svg"]

    assert [each.place.workload for each in bench("--workload", "uniform", "--add").points] == ["floods", "uniform"]
    assert [each.place.workload for each in bench("--workload", "uniform").points] == ["uniform"]


@BOTH
def test_a_wrong_result_is_kept_as_such(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = WORKLOADS["uniform"](ROWS)
    workload.load(engine)
    monkeypatch.setattr(selection, "claim", lambda *arguments, **options: [])
    point = full.point(engine, workload, 0, 1)
    assert point.measured is None
    assert point.wrong
    assert point.wrong.startswith("claim: 0 rows instead of ")


@BOTH
def test_an_explanation_is_checked(engine: sa.Engine) -> None:
    WORKLOADS["run-limits"](ROWS).load(engine)
    with engine.connect() as connection:
        walk = check.walk(connection, MAX_TIS)
    assert walk.blocked is None
    assert measure.explain(engine, walk, MAX_TIS, runs=1).blocked is None

    other = replace(walk, blocked=("dag_00000", "run_00000", "task_00000", -1), blocked_by=frozenset({"pool"}))
    with pytest.raises(WrongResultError, match="why .* instead of {'pool'}"):
        measure.explain(engine, other, MAX_TIS, runs=1)


@BOTH
def test_holders_touched(engine: sa.Engine) -> None:
    WORKLOADS["run-limits"](ROWS).load(engine)
    with engine.connect() as connection:
        # No limited tasks; a run and a started row for each other; and all pools have room.
        assert check.walk(connection, MAX_TIS).holders == 20 + MAX_TIS
        connection.execute(sa.text("UPDATE slot_pool SET slots = 0 WHERE pool < 'pool_00005'"))
        connection.execute(sa.text("UPDATE task SET max_active_tis_per_dag = 9, max_active_tis_per_dagrun = 9"))
        assert check.walk(connection, MAX_TIS).holders > 15 + 2 * MAX_TIS


@BOTH
def test_what_stops_a_row_is_touched_once(engine: sa.Engine) -> None:
    WORKLOADS["run-limits"](ROWS).load(engine)
    runs = "SELECT COUNT(DISTINCT dag_id, run_id) FROM task_instance WHERE state = 'scheduled'"
    if engine.dialect.name == "postgresql":
        runs = runs.replace("dag_id, run_id", "(dag_id, run_id)")
    with engine.connect() as connection:
        connection.execute(sa.text("UPDATE dag SET max_active_tasks = 0"))
        assert check.walk(connection, MAX_TIS).holders == 20 + connection.scalar(sa.text(runs))
        # Full pools and nothing else: what else a row does not fit is not asked.
        connection.execute(sa.text("UPDATE slot_pool SET slots = 0"))
        assert check.walk(connection, MAX_TIS).holders == 20


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_prepared_statements_outlive_a_rollback(engine: sa.Engine) -> None:
    names = "SELECT COUNT(*) FROM pg_prepared_statements WHERE statement LIKE '%max_active_tasks%'"
    WORKLOADS["uniform"](ROWS).load(engine)
    with engine.connect() as connection:
        for _ in range(7):
            selection.select(connection, MAX_TIS)
            timing.roll_back(connection)
        assert connection.scalar(sa.text(names)) == 1
        connection.rollback()
        # As the driver does it, for comparison.
        selection.select(connection, MAX_TIS)
        connection.rollback()
        assert connection.scalar(sa.text(names)) == 0
