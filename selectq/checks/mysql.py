"""MySQL prepares a statement but does not describe it: its columns are read off an empty result."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import sqlalchemy as sa
from pymysql.constants import FIELD_TYPE

from selectq.catalogue import Query, replace_parameters
from selectq.checks.prepared import Prepared, RefusedError
from selectq.literals import quoted, render

OTHER_NAMES = ("CHAR", "INTERVAL")
"""PyMySQL's second names for TINY and ENUM."""
TYPE_NAMES = {
    code: name.lower() for name, code in vars(FIELD_TYPE).items() if isinstance(code, int) and name not in OTHER_NAMES
}
ANY_VALUE: dict[str, Any] = {
    "text": "",
    "integer": 1,
    "boolean": False,
    "timestamp": datetime(2000, 1, 1, tzinfo=UTC),
    "uuid": UUID(int=0),
    "json": [],
}


def prepare(connection: sa.Connection, query: Query) -> Prepared:
    """The server's verdict on the statement as it stands, then its columns from ``LIMIT 0`` around it.

    Raises:
        RefusedError: the server can't prepare it.
    """
    with_marks = replace_parameters(query.sql, lambda name: "?")
    warnings = ask(connection, f"PREPARE selectq_check FROM {quoted('statement', with_marks, 'mysql')}")[1]
    ask(connection, "DEALLOCATE PREPARE selectq_check")
    columns: tuple[tuple[str, str], ...] = ()
    if query.columns:
        filled = render(query, {field.name: ANY_VALUE[field.type] for field in query.parameters})
        columns, _ = ask(connection, f"SELECT * FROM ({filled}\n) AS checked LIMIT 0")  # noqa: S608
    return Prepared(parameters={}, columns=columns, warnings=warnings)


def ask(connection: sa.Connection, sql: str) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Columns of the result, and the warnings."""
    try:
        result = connection.exec_driver_sql(sql, execution_options={"no_parameters": True})
    except sa.exc.DBAPIError as error:
        raise RefusedError(" ".join(str(error.orig.args[-1] if error.orig else error).split())) from None
    description = result.cursor.description if result.cursor else None
    columns = tuple((str(column[0]), TYPE_NAMES.get(cast("int", column[1]), "unknown")) for column in description or ())
    result.close()
    warnings = connection.exec_driver_sql("SHOW WARNINGS").all()
    return columns, tuple(str(message) for _, _, message in warnings)
