"""What the benchmark of trigger rules writes and prints, and that it refuses a wrong answer; nothing is measured."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from benchmarks.measure import WrongResultError
from benchmarks.upstream.beside_airflow import same
from benchmarks.upstream.results import Beside, Decided, Evaluated, Growth, UpstreamResults
from benchmarks.upstream.summary import markdown
from selectq.rows import Decision, Key

FEW = Decided((100.0, 90.0, 130.0), 4_420, 10_000, 11_000)
MANY = Decided((1_050.0, 1_000.0, 1_100.0), 47_890, 100_000, 105_000)
BESIDE = Beside(
    what="100 of 100 tasks",
    version="3.3.2",
    runs=100,
    instances=10_000,
    undecided=4_420,
    ready=212,
    airflow=Evaluated((3_000.0, 2_800.0, 3_300.0), 194, 14_671),
    selectq=Evaluated((75.0, 80.0, 70.0), 3, 214),
)
FOUND = UpstreamResults(
    "postgresql", "PostgreSQL 18.6", datetime.date(2026, 1, 2), 2, [Growth("runs", FEW, MANY, 12.0)], [BESIDE]
)


def test_ratios_are_those_of_the_medians() -> None:
    assert FOUND.growth[0].ratio == 10.5
    assert BESIDE.times_faster == 40
    assert MANY.reads_per_instance == 1.05


def test_the_file_holds_every_repetition(tmp_path: Path) -> None:
    path = FOUND.write(tmp_path)
    found = json.loads(path.read_text())
    assert path.name == "2026-01-02-upstream-postgresql.json"
    assert found["command"] == "make bench-upstream"
    assert found["growth"][0]["few"]["milliseconds"] == [100.0, 90.0, 130.0]
    assert found["growth"][0]["ratio"] == 10.5
    assert found["beside"][0]["times_faster"] == 40


def test_the_tables_name_both_sides() -> None:
    lines = markdown(FOUND).splitlines()
    assert "| runs | 100 (90-130) | 1,050 (1,000-1,100) | 10.5 | 12 | 1.05 |" in lines
    times = "3,000 (2,800-3,300) | 75 (70-80) | 40"
    assert f"| 100 of 100 tasks | 10,000 | 4,420 | 212 | {times} | 194 / 3 | 14,671 / 214 |" in lines


def test_a_part_that_was_not_measured_has_no_table() -> None:
    text = markdown(UpstreamResults("mysql", "MySQL 9.7", datetime.date(2026, 1, 2), 2, [], [BESIDE]))
    assert "As it grows" not in text
    assert "Airflow 3.3.2" in text


def decision(key: Key, what: str) -> Decision:
    counts = dict.fromkeys(
        (
            "expected",
            "success",
            "skipped",
            "failed",
            "upstream_failed",
            "removed",
            "setups",
            "setups_success",
            "setups_skipped",
            "indirect_setups",
            "indirect_setups_success",
            "scope_open",
        ),
        0,
    )
    dag_id, run_id, task_id, map_index = key
    return Decision(
        dag_id,
        run_id,
        task_id,
        map_index,
        is_placeholder=False,
        state=None,
        trigger_rule="all_success",
        decision=what,
        reason="rule",
        **counts,
    )


def test_both_sides_must_find_the_same() -> None:
    a, b = ("d", "r", "a", -1), ("d", "r", "b", -1)
    same([a], [decision(a, "run"), decision(b, "skipped")])
    with pytest.raises(WrongResultError, match=r"1 task instances .* Airflow runs \('d', 'r', 'b'"):
        same([a, b], [decision(a, "run"), decision(b, "wait")])
    with pytest.raises(WrongResultError, match="selectq runs"):
        same([], [decision(a, "run")])
