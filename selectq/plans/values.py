"""Parameters with which a pass would run a query now."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from selectq.catalogue import Query, default_catalogue
from selectq.claims import holders_of, lockable_claims
from selectq.defaults import DEFAULTS, has_default, with_defaults
from selectq.parameters import check_count, check_executor_slots
from selectq.rows import Selected
from selectq.selection import select

QUEUED_BY = "selectq explain"
KEY = ("dag_id", "run_id", "task_id", "map_index")
OF_SELECTED = ("claims", "claimed", "holders", "admitted")
"""Parameters that follow from what is selected, even if they have a default."""


class ReachedError(Exception):
    """The selection is about to run the query that it was to be followed to."""


class Selecting:
    """The selection of a pass: what it passes to the queries that it runs, and what it would start.

    Args:
        given: ``max_tis`` and ``executor_slots``, if they are not to be the defaults.
        until: name of a query: go no further than to its first call.
    """

    def __init__(self, connection: sa.Connection, given: Mapping[str, Any], until: str | None = None) -> None:
        self._connection = connection
        self._max_tis = check_count("max_tis", given.get("max_tis", DEFAULTS["max_tis"]))
        self._executor_slots = check_executor_slots(given.get("executor_slots", DEFAULTS["executor_slots"]))
        self._until = until
        self._first_values: dict[str, dict[str, Any]] = {}
        self._selected: Sequence[Selected] | None = None
        self._names = {query.sql: query.name for query in default_catalogue()}
        sa.event.listen(connection, "before_execute", self._look)
        try:
            self._selected = self._select()
        except ReachedError:
            pass
        finally:
            sa.event.remove(connection, "before_execute", self._look)

    def _select(self) -> Sequence[Selected]:
        return select(self._connection, self._max_tis, self._executor_slots)

    def _look(self, connection: Any, clause: Any, multiple: Any, values: dict[str, Any], options: Any) -> None:
        name = self._names.get(getattr(clause, "text", ""))
        if name is not None:
            self._first_values.setdefault(name, dict(values))
        if name is not None and name == self._until:
            raise ReachedError

    def passed_to(self, query: Query) -> dict[str, Any]:
        """Values of the first call of the query, or those that other queries got under the same names."""
        kinds = {field.name: field.type for field in query.parameters}
        found: dict[str, Any] = {}
        for values in self._first_values.values():
            found = {name: value for name, value in values.items() if name not in OF_SELECTED} | found
        found |= self._first_values.get(query.name, {})
        return {
            name: json.loads(value) if kinds[name] == "json" else value
            for name, value in found.items()
            if name in kinds
        }

    def of_selected(self, wanted: Iterable[str]) -> dict[str, Any]:
        """Those of the wanted parameters that follow from what the selection returns."""
        selected = self._select() if self._selected is None else self._selected
        found: dict[str, Any] = {"admitted": [row.key for row in selected], **of_claims(selected)}
        for row in selected[:1]:
            found |= zip(KEY, row.key, strict=True)
        return {name: value for name, value in found.items() if name in wanted}


def values_of_pass(
    connection: sa.Connection, query: Query, given: Mapping[str, Any], selecting: Selecting | None = None
) -> dict[str, Any]:
    """A value for every parameter: as given, else as in the pass that could run now, else the default.

    What has no value in a pass either, such as the key of a task instance, is taken from the first one selected. Reads
    in the caller's transaction, and changes nothing.

    Args:
        selecting: a selection on the same data with the same values, made before; None = make one.

    Raises:
        InvalidParameterError: a value is wrong, or one is missing that only the caller can know.
        SchemaVersionError: the tables are missing.
    """
    known = {"queued_by": QUEUED_BY, "queued_dttm": utc_now(connection.dialect.name)} | dict(given)
    if query.parameter_names - given.keys():
        selecting = selecting or Selecting(connection, given, until=query.name)
        known = selecting.passed_to(query) | known
        left = [field for field in query.parameters if field.name not in known]
        wanted = {field.name for field in left if field.name in OF_SELECTED or not has_default(field)}
        if wanted:
            known = selecting.of_selected(wanted) | known
    return with_defaults(query, known)


def of_claims(selected: Sequence[Selected]) -> dict[str, Any]:
    """What a claim passes to its statements."""
    holders = holders_of(selected)
    kinds = {"pool": "pools", "dag_run": "runs", "task": "tasks"}
    claims = lockable_claims(selected, [{"holder_kind": kind, "locked": holders[name]} for kind, name in kinds.items()])
    claimed = [(*key, token) for *key, _, token, _, _ in claims]
    return {"claims": claims, "claimed": claimed, "holders": holders}


def utc_now(dialect: str) -> datetime:
    """As the driver wants it: MySQL's columns know no time zone."""
    now = datetime.now(UTC)
    return now.replace(tzinfo=None) if dialect == "mysql" else now
