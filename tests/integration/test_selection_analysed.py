"""Selection on thousands of rows with fresh statistics, against a linear walk.

The planner joins otherwise than on the few rows of random worlds, and lines outgrow a page: a query that counts on the
order in which rows happen to arrive is right there and wrong here.
"""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from benchmarks import check
from benchmarks.workloads import Uniform
from selectq.selection import select


@pytest.mark.parametrize(("rows", "seed"), [(1000, 7), (3000, 0), (5000, 2)])
def test_selection_equals_the_check(engine: sa.Engine, rows: int, seed: int) -> None:
    Uniform(rows, seed).load(engine)
    with engine.connect() as connection:
        for max_tis in (1, 30, 100, 512, 900, 2000):
            assert [row.key for row in select(connection, max_tis)] == check.expected(connection, max_tis)
