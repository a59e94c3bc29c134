"""From a SQLAlchemy select to the text of a query file: header, then the statement as a person would lay it out."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
import sqlglot
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.engine import Dialect
from sqlglot import exp

from selectq.database import dotted

WIDTH = 120
GLOT = {"postgresql": "postgres", "mysql": "mysql"}
DIALECTS: dict[str, Any] = {"postgresql": postgresql.dialect, "mysql": mysql.dialect}
TYPES: dict[str, sa.types.TypeEngine[Any]] = {
    "text": sa.Text(),
    "integer": sa.Integer(),
    "json": sa.JSON(),
}


@dataclass(frozen=True)
class Generated:
    """A query to be written out. ``parameters`` and ``columns``: name -> ``type; description``, as in the header."""

    name: str
    purpose: str
    statement: sa.Select[Any]
    columns: Mapping[str, str]
    limits: str
    result: str = "rows"
    parameters: Mapping[str, str] = field(default_factory=dict)
    version: int = 1
    plan_waivers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Dialect -> subject -> reason."""


def parameter(name: str, kind: str = "text") -> sa.ColumnElement[Any]:
    """A named parameter with its type spelled out, so that NULL can be passed for it."""
    bound: sa.BindParameter[Any] = sa.bindparam(name)
    return sa.cast(bound, TYPES[kind])


def dialect_of(name: str) -> Dialect:
    """The engine's own dialect, with parameters written as ``:name``."""
    made: Dialect = DIALECTS[name](paramstyle="named")
    return made


def file_text(query: Generated, dialect: str, builder: str) -> str:
    """Header and pretty statement. ``builder`` is the dotted name of the function that made it."""
    compiled = str(query.statement.compile(dialect=dialect_of(dialect), compile_kwargs={"render_postcompile": True}))
    pretty = laid_out(compiled, GLOT[dialect])
    lines = [
        f"-- name: {query.name}",
        f"-- version: {query.version}",
        f"-- purpose: {query.purpose}",
        f"-- result: {query.result}",
        *(f"-- param {name}: {text}" for name, text in query.parameters.items()),
        *(f"-- column {name}: {text}" for name, text in query.columns.items()),
        "-- locks: none",
        "-- isolation: any; one statement, one snapshot",
        f"-- limits: {query.limits}",
        f"-- server: {dotted(dialect)}",
        *(f"-- plan-waiver: {subject}: {why}" for subject, why in query.plan_waivers.get(dialect, {}).items()),
        f"-- origin: generated: {builder}, by 'selectq sql generate'; edit that, not this file",
    ]
    header = [part for line in lines for part in wrapped(line)]
    return "\n".join(header) + "\n\n" + pretty + "\n"


def wrapped(line: str) -> list[str]:
    """A header line, continued on lines of its own if it is too long."""
    return textwrap.wrap(line, WIDTH, subsequent_indent="--   ", break_on_hyphens=False)


def laid_out(sql: str, glot: str) -> str:
    """One column and one CTE a line, without aliases that repeat the column's name."""
    tree = sqlglot.parse_one(sql, read=glot)
    for alias in list(tree.find_all(exp.Alias)):
        if isinstance(alias.this, exp.Column) and alias.this.name == alias.alias:
            alias.replace(alias.this)
    # SQLAlchemy writes FROM DUAL where MySQL needs no FROM; sqlglot quotes it into a table's name.
    for source in list(tree.find_all(exp.From)):
        if source.name.upper() == "DUAL":
            source.pop()
    pretty = tree.sql(glot, pretty=True, indent=4, pad=4, max_text_width=60)
    # sqlglot writes Postgres parameters in a driver's style.
    pretty = re.sub(r"%\((\w+)\)s", r":\1", pretty)
    pretty = re.sub(r"^\), (\w+ AS \()$", r"),\n\1", pretty, flags=re.MULTILINE)
    pretty = pretty.replace("ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", "ROWS UNBOUNDED PRECEDING")
    return "\n".join(part for line in pretty.splitlines() for part in broken(line))


def broken(line: str) -> Iterator[str]:
    """The line, broken behind commas if it is too long."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    while len(line) > WIDTH and (end := line.rfind(", ", len(indent), WIDTH)) > 0:
        yield line[: end + 1]
        line = indent + line[end + 2 :]
    yield line
