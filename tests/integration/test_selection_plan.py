"""The access path of a selection on PostgreSQL does not depend on what VACUUM has marked visible to all."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from benchmarks.workloads import Uniform
from selectq.database import PLANNER_SETTINGS
from selectq.executor import query_for

WHOLE_POOLS = "Bitmap Index Scan on ix_task_instance_selection"


def plan(connection: sa.Connection) -> str:
    query = query_for(connection, "selection/select_executable")
    rows = connection.execute(sa.text("EXPLAIN " + query.sql), {"max_tis": 512, "executor_slots": "{}"})
    return "\n".join(rows.scalars())


@pytest.mark.parametrize("engine_name", ["postgresql", "postgresql15"])
def test_lines_are_read_by_the_index_whatever_is_marked_visible(engine: sa.Engine) -> None:
    Uniform(20_000).load(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE pg_class SET relallvisible = 0 WHERE oid = 'task_instance'::regclass")
        assert "Scan using ix_task_instance_selection" in plan(connection)
        assert WHOLE_POOLS not in plan(connection)
        # Without the settings the planner sorts whole pools: this is what they are for.
        for name in PLANNER_SETTINGS:
            connection.exec_driver_sql(f"SET LOCAL {name} = DEFAULT")
        connection.exec_driver_sql("SET LOCAL random_page_cost = 4")
        assert WHOLE_POOLS in plan(connection)
