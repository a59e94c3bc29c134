"""The oracle itself, against worlds worked out by hand and against every public case, without a database."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.case_worlds import before_step, key_of, load_case, select_cases, world_of
from tests.oracle import Answer, Dag, Instance, Key, Pool, Reason, Run, Task, World, walk

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)


def world(instances: dict[Key, Instance], **parts: Any) -> World:
    """One pool of 10 slots, dag ``a`` with its run ``r``, and task ``t`` without limits, unless said otherwise."""
    defaults: dict[str, Any] = {
        "pools": {"default_pool": Pool(10)},
        "dags": {"a": Dag()},
        "tasks": {("a", "t"): Task()},
        "runs": {("a", "r"): Run(logical_date=JANUARY)},
    }
    return World(instances=instances, **{**defaults, **parts})


def mapped(count: int, first: int = 0, **fields: Any) -> dict[Key, Instance]:
    return {("a", "r", "t", index): Instance(**fields) for index in range(first, first + count)}


def test_order_is_weight_then_date_then_bytes_then_map_index() -> None:
    order = [
        ("z", "r", "t", -1),  # weight
        ("b", "old", "t", -1),  # date
        ("B", "r", "t", -1),  # byte order of each id in turn
        ("a", "r", "s", -1),
        ("a", "r", "t", 2),  # a number, not text
        ("a", "r", "t", 10),
        ("a", "r ", "t", -1),
        ("é", "r", "t", -1),
        ("a", "undated", "t", -1),  # no date is last
    ]
    weights = {"z": 2**31 - 1}
    dates = {"old": JANUARY - timedelta(microseconds=1), "undated": None}
    answer = walk(
        world(
            {key: Instance(priority_weight=weights.get(key[0], -(2**31))) for key in reversed(order)},
            dags={key[0]: Dag() for key in order},
            runs={key[:2]: Run(logical_date=dates.get(key[1], JANUARY)) for key in order},
        )
    )
    assert answer.admitted == order


def test_what_does_not_fit_uses_nothing() -> None:
    instances = mapped(1, pool_slots=9) | mapped(1, 1, pool_slots=2) | mapped(2, 2)
    answer = walk(world(instances))
    assert answer.admitted == [("a", "r", "t", 0), ("a", "r", "t", 2)]
    assert [answer.free[key]["pool"] for key in answer.admitted] == [10, 1]
    assert answer.blocked == {
        ("a", "r", "t", 1): {Reason("pool", ("default_pool",), 9, 10, never=False)},
        ("a", "r", "t", 3): {Reason("pool", ("default_pool",), 10, 10, never=False)},
    }


@pytest.mark.parametrize(("include_deferred", "used"), [(False, 5), (True, 7)])
def test_which_states_a_pool_counts(include_deferred: bool, used: int) -> None:
    states = ["queued", "running", "running", "running", "running", "deferred", "deferred", "success", None]
    instances = {("a", "r", "t", index): Instance(state=state) for index, state in enumerate(states)}
    answer = walk(world(instances | mapped(1, 50, pool_slots=4), pools={"default_pool": Pool(8, include_deferred)}))
    assert answer.blocked == {("a", "r", "t", 50): {Reason("pool", ("default_pool",), used, 8, never=False)}}


def test_run_limit_does_not_count_deferred_but_task_limits_do() -> None:
    instances = mapped(1, state="deferred") | mapped(1, 1, state="running") | mapped(2, 2)
    reasons = {}
    for name, parts in {
        "run": {"dags": {"a": Dag(max_active_tasks=2)}},
        "task": {"tasks": {("a", "t"): Task(max_active_tis_per_dag=2)}},
        "task in run": {"tasks": {("a", "t"): Task(max_active_tis_per_dagrun=3)}},
    }.items():
        answer = walk(world(instances, **parts))
        reasons[name] = (len(answer.admitted), answer.blocked[("a", "r", "t", 3)])
    assert reasons == {
        "run": (1, {Reason("max_active_tasks", ("a", "r"), 2, 2, never=False)}),
        "task": (0, {Reason("max_active_tis_per_dag", ("a", "t"), 2, 2, never=False)}),
        "task in run": (1, {Reason("max_active_tis_per_dagrun", ("a", "r", "t"), 3, 3, never=False)}),
    }


def test_several_limits_at_once_and_never() -> None:
    answer = walk(
        world(
            mapped(1, pool_slots=11),
            dags={"a": Dag(max_active_tasks=0)},
            tasks={("a", "t"): Task(-1, 0)},
            executor_slots={"": -3},
        )
    )
    assert answer.blocked == {
        ("a", "r", "t", 0): {
            Reason("pool", ("default_pool",), 0, 10, never=True),
            Reason("max_active_tasks", ("a", "r"), 0, 0, never=True),
            Reason("max_active_tis_per_dag", ("a", "t"), 0, -1, never=True),
            Reason("max_active_tis_per_dagrun", ("a", "r", "t"), 0, 0, never=True),
            Reason("executor", ("",), 0, -3, never=False),
        }
    }


@pytest.mark.parametrize(("slots", "admitted", "never"), [(-1, 3, None), (0, 0, True), (1, 0, True), (2, 1, False)])
def test_special_pool_sizes(slots: int, admitted: int, never: bool | None) -> None:
    answer = walk(world(mapped(3, pool_slots=2), pools={"default_pool": Pool(slots)}))
    assert len(answer.admitted) == admitted
    assert {reason.never for reasons in answer.blocked.values() for reason in reasons} == (
        set() if never is None else {never}
    )


def test_missing_pools_and_missing_task_rows() -> None:
    answer = walk(world({**mapped(1, pool="nowhere"), ("a", "r", "gone", -1): Instance()}))
    assert answer.admitted == [("a", "r", "gone", -1)]
    assert answer.blocked == {("a", "r", "t", 0): {Reason("no_pool", ("nowhere",), None, None, never=True)}}


def test_after_the_stop_max_tis_and_all_other_limits_are_named() -> None:
    answer = walk(world(mapped(1, pool_slots=9) | mapped(1, 1, pool_slots=2) | mapped(1, 2), max_tis=1))
    stop = Reason("max_tis", (), 1, 1, never=False)
    assert answer.blocked == {
        ("a", "r", "t", 1): {stop, Reason("pool", ("default_pool",), 9, 10, never=False)},
        ("a", "r", "t", 2): {stop},
    }


def test_rows_that_are_no_candidates_use_nothing_and_name_only_that() -> None:
    answer = walk(
        world(
            mapped(1, pool="nowhere"),
            dags={"a": Dag(is_paused=True)},
            runs={("a", "r"): Run("failed")},
        )
    )
    assert answer.blocked == {
        ("a", "r", "t", 0): {
            Reason("paused", ("a",), None, None, never=False),
            Reason("dag_run_state", ("a", "r"), None, None, never=False),
        }
    }


def test_executor_slots_count_what_this_walk_admits() -> None:
    names = [None, "celery", "celery", "local", ""]
    instances = {("a", "r", "t", index): Instance(executor=name) for index, name in enumerate(names)}
    running = {("a", "r", "t", 9): Instance(state="running", executor="celery")}
    answer = walk(world(instances | running, executor_slots={"celery": 1, "": 1}))
    assert [key[3] for key in answer.admitted] == [0, 1, 3]
    assert [answer.free[key]["executor"] for key in answer.admitted] == [1, 1, None]
    assert answer.blocked[("a", "r", "t", 2)] == {Reason("executor", ("celery",), 1, 1, never=False)}
    assert answer.blocked[("a", "r", "t", 4)] == {Reason("executor", ("",), 1, 1, never=False)}


@pytest.mark.parametrize("path", select_cases(), ids=lambda path: path.stem)
def test_cases(path: Path) -> None:
    case = load_case(path)
    now = world_of(case)
    for step in [case, *case.get("then", [])]:
        now = before_step(now, step)
        answer = walk(now)
        check(step["expect"], answer)
        now = now.with_states(dict.fromkeys(answer.admitted, "queued"))


def check(expect: dict[str, Any], answer: Answer) -> None:
    if "selected" in expect:
        assert answer.admitted == [key_of(row) for row in expect["selected"]]
    else:
        counts = Counter()
        for row in expect["selected_counts"]:
            counts[group_of(row)] += row["count"]
        assert Counter((key[0], key[2]) for key in answer.admitted) == counts
    by_row = {key_of(row): row["by"] for row in expect.get("blocked", [])}
    counts = {(group_of(row), row["by"]): row["count"] for row in expect.get("blocked_counts", [])}
    found = Counter()
    for key, reasons in answer.blocked.items():
        names = {reason.limit for reason in reasons}
        by = "max_tis" if "max_tis" in names else names.pop()
        assert by == "max_tis" or not names, "exactly one reason before the stop"
        if key in by_row:
            assert by == by_row.pop(key)
        else:
            found[key[0], key[2], by] += 1
    assert not by_row
    assert found == {(*group, by): count for (group, by), count in counts.items()}


def group_of(row: dict[str, Any]) -> tuple[str, str]:
    """The cases count per (dag, task)."""
    return (row["dag_id"], row["task_id"])
