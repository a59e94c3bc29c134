"""Queries are explained where they are run, and the work goes on as if nobody had looked."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from selectq.catalogue import default_catalogue
from selectq.errors import SelectqError
from selectq.parsing import Arrival, statements
from selectq.plans.played import played

NOW = datetime(2026, 3, 4, tzinfo=UTC)
QUERIES = list(default_catalogue())
FILES = sa.text("SELECT COUNT(*) FROM dag_file")
MERGED = sa.text("SELECT SUM(merged) FROM parse_request")


def enqueue(connection: sa.Connection) -> None:
    statements.enqueue(connection, [Arrival("b", "a.py", "dag_callback", 1)], NOW)


def test_the_first_run_of_each_query_is_explained_and_its_changes_are_made_once(engine: sa.Engine) -> None:
    seen = []

    def work(connection: sa.Connection) -> None:
        enqueue(connection)
        seen.append((connection.scalar(FILES), connection.scalar(MERGED)))

    own = [query for query in QUERIES if query.dialect == engine.dialect.name]
    with engine.connect() as connection:
        plans = played(connection, own, [work, work])
        names = ("lock_files", "add_files", "add_requests", "add_payloads")
        assert set(plans) == {f"parsing/{name}.v1" for name in names}
        # One that was explained before is not explained again, and each call starts from what was there.
        assert seen == [(1, 0), (1, 0)]
        assert connection.scalar(FILES) == 0


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_settings_of_the_planner_are_those_of_the_call(engine: sa.Engine) -> None:
    def work(connection: sa.Connection) -> None:
        connection.execute(sa.text("SET LOCAL random_page_cost = 7"))
        statements.clock(connection)

    with engine.connect() as connection:
        plans = played(connection, QUERIES, [work])
    assert plans["parsing/clock.v1"].settings["random_page_cost"] == "7"


def test_a_statement_that_is_refused_is_named_and_nobody_looks_on(engine: sa.Engine) -> None:
    def work(connection: sa.Connection) -> None:
        connection.execute(sa.text("SELECT nothing FROM nowhere"))

    with engine.connect() as connection:
        with pytest.raises(SelectqError, match="the server refuses a statement: .*nowhere"):
            played(connection, QUERIES, [work])
        enqueue(connection)
        assert connection.scalar(MERGED) == 0
        connection.rollback()
