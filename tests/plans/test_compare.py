"""What counts as a difference between plans, and what a waiver covers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from selectq.catalogue import PlanWaiver, Query
from selectq.errors import SelectqError
from selectq.plans.baseline import ALL_TABLES, Baselines, Shape, bound
from selectq.plans.check import waived_of
from selectq.plans.compare import Difference, Place, compare, reads_backlog

INDEX, SEQ = "Index Scan ix_task_instance_selection", "Seq Scan"
PLACE = Place("selection/claim.v1", "postgresql-18", "floods", 2000, "stale", {"task_instance": 2000})
STEPS = ("Limit", f"  {INDEX} on task_instance")
GOOD = Shape(STEPS, {"task_instance": (INDEX,)}, {"task_instance": 500})
SORTED = Shape(("Limit", "  Sort", f"    {SEQ} on task_instance"), {"task_instance": (SEQ,)}, {"task_instance": 700})


def reasons(actual: Shape, *expected: Shape) -> list[str]:
    return [difference.reason for difference in compare(PLACE, expected, actual)]


def test_the_same_plan_within_its_bound() -> None:
    assert reasons(replace(GOOD, rows={"task_instance": 500}), GOOD) == []


def test_more_rows_than_the_bound() -> None:
    assert reasons(replace(GOOD, rows={"task_instance": 501}), GOOD) == [
        "501 rows of task_instance are read, expected: at most 500"
    ]


def test_another_plan_is_shown_as_a_diff() -> None:
    differences = compare(PLACE, [GOOD], SORTED)
    assert [difference.reason for difference in differences] == [
        f"task_instance is read by {SEQ}, expected: {INDEX}",
        "1 x Sort, expected: 0",
        "700 rows of task_instance are read, expected: at most 500",
    ]
    assert differences[0].diff[:2] == ("--- expected", "+++ actual")
    assert f"-  {INDEX} on task_instance" in differences[0].diff
    assert "+  Sort" in differences[0].diff


def test_the_same_steps_in_another_order() -> None:
    actual, expected = (Shape(("A", *steps), {}, {}) for steps in (("  B", "  C"), ("  C", "  B")))
    assert reasons(actual, expected) == ["the same steps in another order"]


def test_no_baseline() -> None:
    assert reasons(GOOD) == ["there is no baseline for it; --update writes one"]


def test_either_of_two_plans_will_do() -> None:
    assert reasons(GOOD, SORTED, GOOD) == reasons(SORTED, SORTED, GOOD) == []
    assert reasons(replace(GOOD, rows={"task_instance": 501}), SORTED, GOOD) == [
        "501 rows of task_instance are read, expected: at most 500"
    ]


def test_reading_the_backlog_is_wrong_whatever_the_baseline_says() -> None:
    assert list(reads_backlog(PLACE, replace(GOOD, rows={"task_instance": 1999}))) == []
    [much] = reads_backlog(PLACE, replace(GOOD, rows={"task_instance": 2000}))
    assert much.reason == "2,000 rows of task_instance are read, expected: fewer than 2,000, whatever the baseline says"
    [whole] = reads_backlog(PLACE, SORTED)
    assert whole.reason == "task_instance is read from end to end: Seq Scan"


def test_reading_a_table_of_holders_again_and_again_is_wrong_too() -> None:
    assert list(reads_backlog(PLACE, Shape((), {"dag": (SEQ,)}, {"dag": 99_999}))) == []
    [looped] = reads_backlog(PLACE, Shape((), {"dag": (SEQ,)}, {"dag": 100_000}))
    assert looped.reason == "100,000 rows of dag are read, expected: fewer than 100,000, whatever the baseline says"
    large = replace(PLACE, all_rows={"task_instance": 1_000_000})
    assert list(reads_backlog(large, Shape((), {}, {"dag": 999_999}))) == []


def test_each_area_has_its_own_large_tables() -> None:
    place = replace(PLACE, all_rows={"dag_file": 50, "parse_request": 20})
    both = Shape((), {"dag_file": (SEQ,), "task_instance": (SEQ,)}, {"dag_file": 49, "parse_request": 20})
    assert [each.reason.split(":")[0] for each in reads_backlog(place, both)] == [
        "dag_file is read from end to end",
        "20 rows of parse_request are read, expected",
    ]


def test_counters_of_a_session_are_held_against_the_baseline_alone() -> None:
    counted = Shape((), {}, {ALL_TABLES: 10_000_000})
    assert list(reads_backlog(PLACE, counted)) == []
    assert reasons(counted, replace(counted, rows={ALL_TABLES: 100})) == [
        "10,000,000 rows of all tables are read, expected: at most 100"
    ]


def left_with(*waivers: PlanWaiver) -> list[tuple[str, str]]:
    query = Query("postgresql", "selection/claim", 1, Path(), "", "", {}, (), (), waivers)
    differences = [*reads_backlog(PLACE, SORTED), *compare(PLACE, [GOOD], SORTED)]
    found: list[Difference] = list(
        waived_of(query, PLACE.server, {PLACE.name: SORTED}, {PLACE.name: (GOOD,)}, differences)
    )
    return [(difference.rule, difference.reason) for difference in found]


@pytest.mark.parametrize("subject", ["stale", "floods", "floods/stale"])
def test_a_waiver_of_the_place_covers_all(subject: str) -> None:
    assert left_with(PlanWaiver(subject, "why not")) == []


@pytest.mark.parametrize(
    ("subject", "rules"),
    [
        ("backlog", ["steps", "steps", "rows"]),
        ("rows", ["backlog", "steps", "steps"]),
        ("Sort", ["backlog", "steps", "rows"]),
        ("task_instance", ["steps"]),
    ],
)
def test_a_waiver_covers_what_it_names_and_nothing_else(subject: str, rules: list[str]) -> None:
    assert [rule for rule, _ in left_with(PlanWaiver(subject, "why not"))] == rules


def test_waivers_that_are_not_needed_or_name_nothing_are_found() -> None:
    all_known = (PlanWaiver("stale", "why not"), PlanWaiver("fresh", "no more"), PlanWaiver("Sorting", "misspelt"))
    assert left_with(*all_known) == [
        ("waiver", "plan-waiver fresh: not needed"),
        ("waiver", "plan-waiver Sorting: no state, workload, table, step or rule of that name"),
    ]


def test_bounds_leave_room_in_two_digits() -> None:
    assert [bound(rows) for rows in (0, 60, 100, 1234, 40_001)] == [100, 100, 150, 1900, 61_000]


def test_baselines_are_written_and_read(tmp_path: Path) -> None:
    baselines = Baselines(tmp_path, "mysql-9.7")
    assert baselines.read("selection/claim.v1") == {}
    assert baselines.write("selection/claim.v1", {"uniform/2000/fresh": GOOD, "floods/2000/fresh": GOOD})
    assert not baselines.write("selection/claim.v1", {"uniform/2000/fresh": GOOD})
    assert baselines.write("selection/claim.v1", {"floods/2000/fresh": SORTED})
    with_room = {"task_instance": 750}
    assert baselines.read("selection/claim.v1") == {
        "uniform/2000/fresh": (replace(GOOD, rows=with_room),),
        "floods/2000/fresh": (replace(SORTED, rows={"task_instance": 1100}),),
    }
    assert baselines.write("selection/claim.v1", {"floods/2000/fresh": GOOD}, add=True)
    both = (replace(GOOD, rows=with_room), replace(SORTED, rows={"task_instance": 1100}))
    assert baselines.read("selection/claim.v1")["floods/2000/fresh"] == both
    # Either of them found again changes nothing; another one takes the place of both.
    assert not baselines.write("selection/claim.v1", {"floods/2000/fresh": SORTED})
    assert baselines.write("selection/claim.v1", {"floods/2000/fresh": replace(GOOD, steps=("Limit",))})
    assert len(baselines.read("selection/claim.v1")["floods/2000/fresh"]) == 1
    assert baselines.strays({"selection/other.v1"}) == [baselines.path("selection/claim.v1")]
    baselines.path("selection/claim.v1").write_text("[]")
    with pytest.raises(SelectqError, match="not a baseline"):
        baselines.read("selection/claim.v1")
