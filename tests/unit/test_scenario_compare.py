"""What ``compare`` calls a difference, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from selectq.rows import Key
from selectq.scenario.compare import MOST_NAMED, compare
from selectq.scenario.model import Expectation, Group

A = Group("a", None, None)
POOL, STOP = ("pool",), ("max_tis",)


def row(map_index: int, dag_id: str = "a") -> Key:
    return (dag_id, "r", "t", map_index)


def expectation(**given: Any) -> Expectation:
    nothing = dict.fromkeys(("selected", "selected_counts", "blocked", "blocked_counts"))
    return Expectation(**{**nothing, **given})


@pytest.mark.parametrize(
    ("expect", "selected", "blocked"),
    [
        (expectation(selected=()), [], {}),
        (expectation(selected=(row(1), row(0))), [row(1), row(0)], {row(2): POOL}),
        (expectation(selected_counts={A: 2, Group("b", "r", "t"): 1}), [row(0), row(0, "b"), row(1)], {}),
        (expectation(selected=(), blocked={row(0): "pool"}), [], {row(0): POOL}),
        (expectation(selected=(), blocked={row(0): "pool"}), [], {row(0): ("pool", "max_tis")}),
        (expectation(selected=(), blocked={row(0): "max_tis"}), [], {row(0): ("max_tis", "pool", "no_pool")}),
        (expectation(selected=(), blocked_counts={(A, "pool"): 2}), [], {row(0): POOL, row(1): POOL}),
        (
            expectation(selected=(), blocked={row(0): "pool"}, blocked_counts={(A, "max_tis"): 1}),
            [],
            {row(0): POOL, row(1): STOP},
        ),
        (
            expectation(selected=(), blocked_counts={(A, "pool"): 2, (A, "max_tis"): 1}),
            [],
            {row(0): POOL, row(1): ("pool", "max_tis"), row(2): ("pool", "max_tis")},
        ),
    ],
)
def test_as_expected(expect: Expectation, selected: list[Key], blocked: dict[Key, tuple[str, ...]]) -> None:
    assert compare(expect, selected, blocked) == []


@pytest.mark.parametrize(
    ("expect", "selected", "blocked", "sentences"),
    [
        (
            expectation(selected=(row(0), row(1))),
            [row(1), row(2)],
            {row(0): POOL},
            ["(a, r, t, 0) should have been selected, but is blocked by pool",
             "(a, r, t, 2) was selected, but should not have been"],
        ),
        (expectation(selected=(row(0),)), [], {}, ["(a, r, t, 0) should have been selected, but is not blocked"]),
        (
            expectation(selected=(row(0), row(1), row(2))),
            [row(0), row(2), row(1)],
            {},
            ["place 2 of the selection: expected (a, r, t, 1), got (a, r, t, 2)",
             "place 3 of the selection: expected (a, r, t, 2), got (a, r, t, 1)"],
        ),
        (
            expectation(selected_counts={A: 2}),
            [row(0), row(0, "b")],
            {},
            ["selected of (a): expected 2, got 1", "(b, r, t, 0) was selected, but is in no group that should be"],
        ),
        (
            expectation(selected=(row(0),), blocked={row(0): "pool", row(1): "pool", row(2): "pool"}),
            [row(0)],
            {row(1): STOP, row(2): ("pool", "max_active_tasks")},
            ["(a, r, t, 0) should be blocked by pool, but is not blocked",
             "(a, r, t, 1) should be blocked by pool, but is blocked by max_tis",
             "(a, r, t, 2) should be blocked by pool, but is blocked by pool and max_active_tasks"],
        ),
        (
            expectation(selected=(), blocked={}),
            [],
            {row(0): POOL},
            ["(a, r, t, 0) is blocked by pool, but is not listed as blocked"],
        ),
        (
            expectation(selected=(), blocked_counts={(A, "pool"): 1}),
            [],
            {row(0): POOL, row(1): POOL},
            ["blocked of (a) by pool: expected 1, got 2"],
        ),
        (
            expectation(selected=(), blocked_counts={(A, "pool"): 1}),
            [],
            {row(0): POOL, row(1): ("paused",), row(2, "b"): POOL},
            ["(b, r, t, 2) is blocked by pool, but is not listed as blocked",
             "(a, r, t, 1) should be blocked by pool, but is blocked by paused"],
        ),
        (
            expectation(selected=(), blocked_counts={(A, "pool"): 1, (A, "max_tis"): 1}),
            [],
            {row(0): POOL, row(1): ("pool", "max_tis"), row(2): ("pool", "max_tis")},
            ["blocked of (a): expected 2 in all, got 3"],
        ),
    ],
)  # fmt: skip
def test_differences(
    expect: Expectation, selected: list[Key], blocked: dict[Key, tuple[str, ...]], sentences: list[str]
) -> None:
    assert compare(expect, selected, blocked) == sentences


def test_a_million_differences_are_counted() -> None:
    sentences = compare(expectation(selected=()), [row(index) for index in range(1_000)], {})
    assert len(sentences) == MOST_NAMED + 1
    assert sentences[-1] == f"... and {1_000 - MOST_NAMED} more like this"
