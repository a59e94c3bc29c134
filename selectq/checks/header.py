"""What a header says beyond its form, which the catalogue checks."""

from __future__ import annotations

import re
from collections.abc import Iterator

import sqlalchemy as sa

from selectq.catalogue import DIALECTS, Query, used_parameters
from selectq.database import LOWEST, dotted

ORIGIN = re.compile(r"generated: selectq\.generate\.\S+, .+|hand-written: .+")
VERSION = re.compile(r"\d+(\.\d+)*")


def check_header(query: Query) -> Iterator[str]:
    header = query.header
    if not ORIGIN.fullmatch(header["origin"]):
        yield "origin: expected 'generated: selectq.generate.<module>.<function>, ...' or 'hand-written: <why>'"
    if not VERSION.fullmatch(header["server"]):
        yield f"server: {header['server']!r} is no version; expected the lowest one, such as {dotted(query.dialect)}"
    elif tuple(map(int, header["server"].split("."))) > LOWEST[query.dialect]:
        yield f"server: {header['server']} is above {dotted(query.dialect)}, the lowest version that selectq supports"
    if "engine" in header and not re.fullmatch(f"{query.dialect} only: .+", header["engine"]):
        yield f"engine: expected '{query.dialect} only: <why>', found {header['engine']!r}"
    yield from check_binding(query)


def check_binding(query: Query) -> Iterator[str]:
    """SQLAlchemy, which binds the parameters, also looks into comments and quoted text."""
    bound = sa.text(query.sql).compile().params.keys()
    for name in sorted(bound - used_parameters(query.sql)):
        yield f"':{name}' in a comment or in quoted text would be bound as a parameter"
    if "\\" in query.sql:
        yield "a backslash: the engines and SQLAlchemy each read it in their own way"


def only_on(query: Query) -> bool:
    """Whether the header says that the other engine needs no such query."""
    return any(query.header.get("engine", "").startswith(f"{dialect} only:") for dialect in DIALECTS)
