"""The benchmark of the parse queue runs; the simulated day tells the policies apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.parse_queue import main
from benchmarks.parse_simulation.day import simulate
from benchmarks.parse_simulation.policies import OneQueue, TwoLanes


@pytest.mark.parametrize("engine_name", ["postgresql", "mysql"])
def test_the_benchmark_runs(engine_url: str, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    done = CliRunner().invoke(
        main, ["--url", engine_url, "--runs", "3", "--largest", "100", "--json", str(figures)]
    )
    assert done.exit_code == 0, done.output
    [found] = json.loads(figures.read_text())
    assert found["files"] == 100
    assert found["statements"] == {"enqueue": [3], "claim": [7], "finish": [4]}


def test_a_busy_file_is_parsed_in_two_lanes_and_never_in_one() -> None:
    one = simulate(OneQueue(1000, "front", move=False, callbacks_only=True), 7200)
    two = simulate(TwoLanes(1000, 1, 120), 7200)
    assert max(one.files) == 7200
    assert max(two.files) < 1200
    assert max(two.dag_callbacks) < 60
