"""The workloads of the benchmarks: the same rows everywhere, the shape that they are named for, exact selection."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import pytest
import sqlalchemy as sa

from benchmarks import check
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.base import TABLES
from selectq.selection import claim, select

MAX_TIS = 512

# Of 10,000 rows and seed 1: the limit that most were passed over for on the way to a full batch, and how many.
PASSED_OVER = {
    "uniform": ("pool", 14),
    "hot-pool": ("pool", 5108),
    "flood": ("max_active_tis_per_dagrun", 9007),
    "floods": ("max_active_tis_per_dagrun", 9001),
    "run-limits": ("max_active_tasks", 317),
    "cross": ("max_active_tasks", 7194),
    "wide": ("pool", 315),
    "many-pools": ("pool", 1900),
    "one-priority": ("max_active_tasks", 2898),
    "all-priorities": ("max_active_tis_per_dagrun", 3),
}

# Of 1,000 rows with 200 of history: what all tables hold, on every engine; seeds 1 and 2.
DIGESTS = {
    "uniform": ("63ea16e5a6362b60", "092dfe6ffe6de99d"),
    "hot-pool": ("9d24a9c475408185", "24c3b04713a2bc5c"),
    "flood": ("fdd11b1d15372b56", "bf8a4f156f94421d"),
    "floods": ("17f10a906aa3a0a6", "f68b970622c76a2e"),
    "run-limits": ("251d68b3ad4692e9", "cc8e50ce6f51bc38"),
    "cross": ("e2c760be90b04e6a", "51ab6b1aa595ad17"),
    "wide": ("db1ca2837484711b", "0853de02edaf7765"),
    "many-pools": ("655f9b87c58eb85c", "c084bc431803dc74"),
    "one-priority": ("9078118f1805ad4b", "ee9770e3ca9bec04"),
    "all-priorities": ("bc9fc339bc7cf7c8", "a4fa278e0acdb94e"),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_selection_and_claim_equal_the_check(engine: sa.Engine, name: str) -> None:
    WORKLOADS[name](rows=10_000).load(engine)
    with engine.connect() as connection:
        wanted = check.walk(connection, MAX_TIS)
        assert len(wanted.started) == MAX_TIS
        assert wanted.passed_over.most_common(1) == [PASSED_OVER[name]]
        assert [row.key for row in select(connection, MAX_TIS)] == wanted.started
        assert [row.key for row in claim(connection, MAX_TIS)] == wanted.started


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_rows_depend_on_the_options_alone(engine: sa.Engine, name: str, seed: int) -> None:
    WORKLOADS[name](rows=1000, seed=seed, history=200).load(engine)
    with engine.connect() as connection:
        assert digest(connection) == DIGESTS[name][seed - 1]


def digest(connection: sa.Connection) -> str:
    """Of all rows of all tables, whatever order they come in."""
    found = hashlib.sha256()
    for table in TABLES:
        described = sa.inspect(connection).get_columns(table)
        # MySQL's own columns repeat what stands in others.
        names = [column["name"] for column in described if "computed" not in column]
        rows = connection.execute(sa.text(f"SELECT {', '.join(names)} FROM {table}"))
        for line in sorted(repr(plain(row)) for row in rows):
            found.update(line.encode())
    return found.hexdigest()[:16]


def plain(row: Iterable[Any]) -> list[str | None]:
    """Without what tells engines apart: kinds of booleans and time zones."""
    return [
        None
        if value is None
        else value.replace(tzinfo=None).isoformat()
        if hasattr(value, "tzinfo")
        else str(int(value) if isinstance(value, bool) else value)
        for value in row
    ]


def count(connection: sa.Connection, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.execute(sa.text(query))]


SHAPES = [
    ("wide", "SELECT MIN(pool_slots), MAX(pool_slots) FROM task_instance", [(1, 8)]),
    ("many-pools", "SELECT COUNT(*) FROM slot_pool", [(2000,)]),
    ("one-priority", "SELECT DISTINCT priority_weight FROM task_instance", [(1,)]),
    (
        "all-priorities",
        "SELECT COUNT(DISTINCT priority_weight), MIN(priority_weight), MAX(priority_weight) FROM task_instance "
        "WHERE state = 'scheduled'",
        [(1000, 1, 1000)],
    ),
    (
        "run-limits",
        "SELECT active, COUNT(*) FROM (SELECT COUNT(*) AS active FROM task_instance "
        "WHERE state IN ('queued', 'running') GROUP BY dag_id, run_id) AS r GROUP BY active",
        [(15, 1000)],
    ),
    (
        "flood",
        "SELECT state, COUNT(*) FROM task_instance WHERE dag_id = 'flood' GROUP BY state ORDER BY state",
        [("running", 5), ("scheduled", 900)],
    ),
    (
        "floods",
        "SELECT active, COUNT(*) FROM (SELECT COUNT(*) AS active FROM task_instance "
        "WHERE dag_id LIKE 'flood%' AND state = 'running' GROUP BY dag_id, run_id) AS r GROUP BY active ORDER BY 1",
        [(4, 1), (5, 9)],
    ),
]


@pytest.mark.parametrize(("name", "query", "found"), SHAPES, ids=[shape[0] for shape in SHAPES])
@pytest.mark.parametrize("engine_name", ["postgresql", "mysql"])
def test_the_shape(engine: sa.Engine, name: str, query: str, found: list[tuple[Any, ...]]) -> None:
    WORKLOADS[name](rows=1000).load(engine)
    with engine.connect() as connection:
        assert count(connection, query) == found


@pytest.mark.parametrize("name", ["uniform", "floods"])
@pytest.mark.parametrize("engine_name", ["postgresql", "mysql"])
def test_history_is_finished_and_changes_no_pass(engine: sa.Engine, name: str) -> None:
    steps: list[tuple[int, int]] = []
    WORKLOADS[name](rows=2000, history=20_000).load(engine, lambda done, total: steps.append((done, total)))
    with engine.connect() as connection:
        finished = count(
            connection,
            "SELECT ti.state, COUNT(*) FROM task_instance AS ti "
            "JOIN dag_run AS r ON r.dag_id = ti.dag_id AND r.run_id = ti.run_id "
            "WHERE r.state IN ('success', 'failed') GROUP BY ti.state ORDER BY ti.state",
        )
        assert finished == [("failed", 1000), ("success", 19_000)]
        wanted = check.expected(connection, 100)
        assert len(wanted) == 100
        assert [row.key for row in select(connection, 100)] == wanted
    assert steps == [(done, steps[-1][1]) for done in range(1, steps[-1][1] + 1)]
