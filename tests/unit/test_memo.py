"""The memo of upstream counts: what it shares, what growth drops, and what it counts."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from selectq.memo import MemoStats, UpstreamCounts, UpstreamMemo
from selectq.rows import UpstreamCount


class Database:
    """Task instances per task of one run; remembers what it was asked for."""

    def __init__(self, **instances: int) -> None:
        self.instances = instances
        self.asked: list[list[str]] = []

    def ask(self, names: Collection[str]) -> list[UpstreamCount]:
        self.asked.append(sorted(names))
        return [row for row in self.rows() if row.task_id in names]

    def rows(self, run_id: str = "r") -> list[UpstreamCount]:
        return [
            UpstreamCount("d", run_id, name, name.startswith("setup"), None, count)
            for name, count in self.instances.items()
            if count
        ]


def get(memo: UpstreamMemo, database: Database, *names: str) -> UpstreamCounts:
    return memo.get("d", "r", names, database.ask)


def test_a_set_is_asked_for_once_in_whatever_order() -> None:
    memo, database = UpstreamMemo(), Database(a=1, b=2, setup=3)
    first = get(memo, database, "a", "b", "setup", "absent")
    assert get(memo, database, "setup", "absent", "b", "a", "a") is first
    assert database.asked == [["a", "absent", "b", "setup"]]
    assert (first.count(), first.count(None), first.count("success"), first.count(setups=True)) == (6, 6, 0, 3)
    assert memo.stats == MemoStats(hits=1, misses=1)


def test_sets_share_the_counts_below_them() -> None:
    memo, database = UpstreamMemo(), Database(a=1, b=2)
    get(memo, database, "a")
    assert get(memo, database, "a", "b").count() == 3
    assert get(memo, database, "b").count() == 2
    assert get(memo, database).count() == 0
    assert database.asked == [["a"], ["b"]]


def test_runs_do_not_share() -> None:
    memo, database = UpstreamMemo(), Database(a=1)
    get(memo, database, "a")
    assert memo.get("d", "other", ["a"], lambda names: []).count() == 0
    assert memo.get("other", "r", ["a"], lambda names: []).count() == 0
    assert memo.stats.misses == 3


def test_a_question_that_failed_is_asked_again() -> None:
    memo, database = UpstreamMemo(), Database(a=1)

    def fail(names: Collection[str]) -> list[UpstreamCount]:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        memo.get("d", "r", ["a"], fail)
    assert get(memo, database, "a").count() == 1


def test_a_run_that_was_counted_as_a_whole_is_not_asked_for_again() -> None:
    memo, database = UpstreamMemo(), Database(a=1, b=2)
    memo.fill([("d", "r"), ("d", "empty")], database.rows())
    assert get(memo, database, "a", "b", "absent").count() == 3
    assert memo.get("d", "empty", ["a"], database.ask).count() == 0
    assert database.asked == []
    assert memo.stats == MemoStats(hits=2)


def test_growth_drops_what_contains_the_task_in_that_run_and_nothing_else() -> None:
    memo, database = UpstreamMemo(), Database(a=1, b=2)
    memo.fill([("d", "r"), ("d", "other")], database.rows() + database.rows("other"))
    kept = get(memo, database, "b")
    elsewhere = memo.get("d", "other", ["a", "b"], database.ask)
    old = [get(memo, database, "a"), get(memo, database, "a", "b")]
    database.instances["a"] = 5
    memo.grew("d", "r", "a")
    assert memo.stats.drops == 2
    assert get(memo, database, "a", "b").count() == 7
    assert get(memo, database, "a").count() == 5
    assert database.asked == [["a"]], "one more question for all sets with the task"
    assert get(memo, database, "b") is kept
    assert memo.get("d", "other", ["b", "a"], database.ask) is elsewhere
    assert [entry.count() for entry in old] == [1, 3], "what was handed out does not change"


def test_growth_before_anything_was_asked_for_is_no_drop() -> None:
    memo, database = UpstreamMemo(), Database(a=1)
    memo.grew("d", "r", "a")
    assert memo.stats == MemoStats()
    memo.fill([("d", "r")], database.rows())
    memo.grew("d", "r", "a")
    database.instances["a"] = 0
    assert get(memo, database, "a").count() == 0
    assert database.asked == [["a"]]
    assert get(memo, database, "a").count() == 0
    assert database.asked == [["a"]], "that there are none is known too"
