"""Random worlds for hypothesis: small, full of conflicts, with every special value that a limit can have.

Few ids, few pools and tight limits make rows compete; examples shrink towards one row, ``default_pool`` and short ids.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from tests.oracle import Dag, Instance, Key, Pool, Run, Task, World

LOWEST, HIGHEST = -(2**31), 2**31 - 1

# Case, accents composed and not, spaces at either end, signs that collations disagree on, other alphabets, and the full
# length in letters of at most two bytes: more bytes, and the tables refuse a row (schema.KEY_BYTES).
IDS = (
    *("a", "b", "A", "B", "_", "-", "a-b", "a_b", "a ", " a", "a b", "é", "e\u0301", "É", "ß", "ss", "я", "日本", "😀"),
    *(letter * 250 for letter in "aé"),
)
TASK_IDS = ("t", "T", "t ", "u", "ü", "t" * 250)
POOLS = ("default_pool", "p", "P", "p ", "ö", "p" * 256)
EXECUTORS = ("celery", "Celery", "local", "é")
DEFAULT_EXECUTOR = ""
"""In the executors' free slots; a row has None."""
DATES = (
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    datetime(2026, 1, 2, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    None,
)
ACTIVE = ("running", "queued", "deferred")
INACTIVE = ("success", None, "up_for_retry", "up_for_reschedule", "removed")


def mostly(usual: st.SearchStrategy[Any], rare: st.SearchStrategy[Any], share: int = 20) -> st.SearchStrategy[Any]:
    """From ``rare`` once in ``share`` draws."""
    return st.sampled_from([*[usual] * (share - 1), rare]).flatmap(lambda chosen: chosen)


def some_of(values: tuple[Any, ...]) -> st.SearchStrategy[list[Any]]:
    """One to three different values."""
    return st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True)


def table(keys: list[Any], row: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[Any, Any]]:
    """A row per key; keys that draw None have no row."""
    return st.tuples(*(row for _ in keys)).map(
        lambda rows: {key: row for key, row in zip(keys, rows, strict=True) if row is not None}
    )


task_limits = mostly(st.none() | st.none() | st.integers(1, 9), st.sampled_from((0, -1, LOWEST, HIGHEST)))
pools = st.builds(
    Pool,
    mostly(st.integers(1, 30), st.sampled_from((-1, 0, HIGHEST)), share=8),
    mostly(st.just(False), st.just(True), share=3),
)
dags = st.builds(
    Dag,
    mostly(st.integers(1, 16), st.sampled_from((0, -1, LOWEST, HIGHEST))),
    mostly(st.just(False), st.just(True)),
)
tasks = st.builds(Task, task_limits, task_limits)
runs = st.builds(
    Run, mostly(st.just("running"), st.sampled_from(("queued", "success", "failed"))), st.sampled_from(DATES)
)
states = mostly(st.just("scheduled"), mostly(st.sampled_from(ACTIVE), st.sampled_from(INACTIVE), share=4), share=4)
widths = mostly(st.just(1), mostly(st.integers(2, 9), st.just(HIGHEST), share=8), share=4)
weights = mostly(st.integers(1, 3), st.sampled_from((0, -1, LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST)), share=5)
free_slots = mostly(st.integers(0, 8), st.sampled_from((-1, -HIGHEST, HIGHEST)), share=8)


@st.composite
def worlds(draw: st.DrawFn, longest_flood: int = 8) -> World:
    """Up to three dags, each with the same up to three runs and tasks, and up to twelve floods of like rows.

    Args:
        longest_flood: most rows of one; with 8 most worlds have 0 to 60 rows.
    """
    dag_ids, run_ids, task_ids = draw(some_of(IDS)), draw(some_of(IDS)), draw(some_of(TASK_IDS))
    pool_names = draw(some_of(POOLS))
    run_keys = [(dag_id, run_id) for dag_id in dag_ids for run_id in run_ids]
    task_keys = [(dag_id, task_id) for dag_id in dag_ids for task_id in task_ids]
    executors = mostly(st.none(), st.sampled_from(EXECUTORS), share=3)
    flood = st.tuples(
        st.sampled_from(run_keys),
        st.sampled_from(task_ids),
        st.sampled_from((-1, 0, 2, 8, HIGHEST - longest_flood)),
        st.integers(1, longest_flood),
        st.builds(Instance, states, st.sampled_from(pool_names), widths, weights, executors),
    )
    instances: dict[Key, Instance] = {}
    count = draw(st.integers(0, 12))
    for run_key, task_id, first, length, instance in draw(st.lists(flood, min_size=count, max_size=count)):
        instances |= {(*run_key, task_id, first + offset): instance for offset in range(length)}
    return World(
        pools=draw(table(pool_names, mostly(pools, st.none()))),
        dags=draw(table(dag_ids, dags)),
        tasks=draw(table(task_keys, mostly(tasks, st.none()))),
        runs=draw(table(run_keys, runs)),
        instances=instances,
        max_tis=draw(mostly(st.integers(1, 30), st.sampled_from((512, 1_000_000)), share=4)),
        executor_slots=draw(st.dictionaries(st.sampled_from((DEFAULT_EXECUTOR, *EXECUTORS)), free_slots, max_size=3)),
    )
