"""Queries explained where the product runs them: in the middle of the work that they are part of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from selectq.catalogue import Query
from selectq.errors import SelectqError
from selectq.plans.explain import EXPLAIN, rolled_back
from selectq.plans.model import Plan
from selectq.plans.states import Call


def played(connection: sa.Connection, queries: Iterable[Query], calls: Iterable[Call]) -> dict[str, Plan]:
    """Plans by query id, each of the first time that one of the calls runs the query.

    A plan is analyzed with the parameters, the rows and the planner's settings that the query meets there. Each call
    has a transaction that is rolled back.

    Raises:
        SelectqError: the server refuses a statement.
    """
    looking = Looking(queries)
    sa.event.listen(connection, "before_execute", looking.look)
    try:
        for call in calls:
            with rolled_back(connection, read_only=False):
                call(connection)
    except sa.exc.DBAPIError as error:
        if error.connection_invalidated:
            raise
        raise SelectqError(f"the server refuses a statement: {error.orig}") from error
    finally:
        sa.event.remove(connection, "before_execute", looking.look)
    return looking.plans


class Looking:
    """Explains each query once, just before it is run for the first time."""

    def __init__(self, queries: Iterable[Query]) -> None:
        self.plans: dict[str, Plan] = {}
        self._left = {query.sql: query for query in queries}

    def look(
        self, connection: sa.Connection, clause: Any, multiple: Any, values: Mapping[str, Any], options: Any
    ) -> None:
        query = self._left.pop(getattr(clause, "text", ""), None)
        if query is None:
            return
        # Back to here afterwards: an analyzed plan has made its changes.
        with connection.begin_nested() as savepoint:
            given = as_given(query, values)
            self.plans[query.id] = EXPLAIN[query.dialect](connection, query, given, True)
            savepoint.rollback()


def as_given(query: Query, values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a caller gives them, from those that were bound."""
    kinds = {field.name: field.type for field in query.parameters}
    return {
        name: json.loads(value) if kinds[name] == "json" and value is not None else value
        for name, value in values.items()
    }
