"""What the demo says, from numbers given to it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from selectq.demo.counting import Traffic
from selectq.demo.play import Outcome
from selectq.demo.progress import progress
from selectq.demo.report import sentence, summary, table
from selectq.demo.stories import mapped_story, pools_story

STORY = mapped_story(flood=3000, limit=2, small=3, max_tis=8)
STARVING = Outcome("usual", 500, {"dag_a": 1000, "dag_b": 0}, passes=500, traffic=Traffic(2000, 4250))
AT_ONCE = Outcome("selectq", 500, {"dag_a": 2, "dag_b": 3}, passes=1, first=1, traffic=Traffic(1, 5))
LATE = Outcome("usual", 500, {"dag_a": 1, "dag_b": 1}, passes=7, first=7, traffic=Traffic(28, 30))


def test_table() -> None:
    columns, rows = table(STORY, [STARVING, AT_ONCE])
    assert columns == ["", "usual", "selectq"]
    assert rows == [
        ["passes", "500", "1"],
        ["started of dag_a, pool default_pool", "1,000", "2"],
        ["started of dag_b, pool default_pool", "0", "3"],
        ["statements per pass", "4.0", "1.0"],
        ["rows fetched per pass", "8.5", "5.0"],
        ["first pass that starts dag_b", "not within 500", "1"],
    ]


def test_the_sentence_follows_the_numbers() -> None:
    assert sentence(STORY, [STARVING, AT_ONCE]) == (
        "Of the 3 task instances of dag_b, usual started none in 500 passes (and 1,000 others) "
        "and selectq started 3 in pass 1 (and 2 others by then)."
    )
    assert sentence(STORY, [LATE]) == (
        "Of the 3 task instances of dag_b, usual started 1 in pass 7 (and 1 other by then)."
    )


def test_summary() -> None:
    found = summary(STORY, "mysql", [STARVING])
    assert found["runs"] == [
        {
            "method": "usual",
            "passes": 500,
            "passes_at_most": 500,
            "started": [
                {"dag_id": "dag_a", "pool": "default_pool", "count": 1000},
                {"dag_id": "dag_b", "pool": "default_pool", "count": 0},
            ],
            "statements_per_pass": 4.0,
            "rows_per_pass": 8.5,
            "first_pass": None,
        }
    ]
    assert (found["story"], found["engine"], found["max_tis"], found["starved"]) == ("mapped", "mysql", 8, "dag_b")


def test_the_stories_are_as_large_as_they_say() -> None:
    assert pools_story().task_instances == 19 + 1000 + 100
    assert mapped_story().task_instances == 10_000 + 10
    ready = [row for row in pools_story().rows["task_instance"] if row["state"] == "scheduled"]
    assert {(row["pool"], row["priority_weight"]) for row in ready} == {("hot", 2), ("idle", 1)}


def run(console: Console, quiet: bool) -> None:
    outcome = Outcome("usual", 8, {"dag_a": 0, "dag_b": 0})
    with progress(console, quiet=quiet) as begin:
        after_pass = begin(STORY, "usual", 8)
        for number in range(1, 9):
            outcome.passes = number
            outcome.started["dag_a"] += 2
            after_pass(outcome)


def test_progress_without_a_terminal_is_a_line_now_and_then() -> None:
    out = io.StringIO()
    run(Console(file=out, force_terminal=False), quiet=False)
    assert out.getvalue().splitlines() == [
        f"mapped: usual: pass {number} of at most 8, started: dag_a {2 * number}, dag_b 0" for number in (2, 4, 6, 8)
    ]


def test_quiet_progress_without_a_terminal_is_nothing() -> None:
    out = io.StringIO()
    run(Console(file=out, force_terminal=False), quiet=True)
    assert out.getvalue() == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_progress_in_a_terminal_fits_80_columns(quiet: bool) -> None:
    out = io.StringIO()
    run(Console(file=out, force_terminal=True, color_system=None, width=80), quiet=quiet)
    assert "mapped: usual" in out.getvalue()
    assert "pass 8/8 started: dag_a 16, dag_b 0" in out.getvalue()
