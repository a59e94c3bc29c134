"""Ids compare as bytes on every engine, and how long they may be."""

from __future__ import annotations

import random
from typing import Any

import pytest
import sqlalchemy as sa

from selectq.schema import ID_LENGTH, POOL_LENGTH, build_metadata

DISTINCT = (
    *("-", "D", "_", "d"),
    *("a", "A", "a ", " a", "a  ", "ab", "a\t"),
    *("e", "é", "e\u0301", "É"),
    *("ss", "ß", "ẞ"),
    *("Ⅷ", "VIII", "1", "¹", "１"),
    *("\uffff", "\U00010000", "\U0001f600", "\u200d", ""),
)
"""Pairs of these are equal, or in another order, under some collation: by case, accent, padding, width or UTF-16."""


def byte_order(ids: tuple[str, ...]) -> list[str]:
    return sorted(ids, key=str.encode)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("dag", "dag_id"),
        ("slot_pool", "pool"),
        ("task", "task_id"),
        ("dag_run", "run_id"),
        ("task_edge", "upstream_task_id"),
        ("task_instance", "run_id"),
        ("task_instance", "task_id"),
        ("task_instance", "pool"),
        ("task_instance", "executor"),
        ("task_instance", "queued_by"),
    ],
)
def test_ids_compare_as_bytes(engine: sa.Engine, table: str, column: str) -> None:
    tables = build_metadata(engine.dialect.name).tables
    with engine.begin() as connection:
        for number, value in enumerate(DISTINCT):
            insert_chain(connection, tables, table, {column: value}, number)
        target = tables[table].c[column]

        assert connection.scalars(sa.select(target).order_by(target)).all() == byte_order(DISTINCT)
        assert connection.scalar(sa.select(sa.func.count(sa.distinct(target)))) == len(DISTINCT)
        for value in DISTINCT:
            assert connection.scalars(sa.select(target).where(target == value)).all() == [value]


def insert_chain(connection: sa.Connection, tables: Any, last: str, values: dict[str, str], number: int) -> None:
    """Insert a row of ``last`` with these values, and what it refers to; keys not given are ``x`` with the number."""
    filler = f"x{number}"
    needed = {
        "slot_pool": ("slot_pool",),
        "dag": ("dag",),
        "task": ("dag", "task"),
        "task_edge": ("dag", "task", "task_edge"),
        "dag_run": ("dag", "dag_run"),
        "task_instance": ("dag", "dag_run", "task_instance"),
    }[last]
    known: dict[str, Any] = {
        "dag_id": filler, "run_id": filler, "task_id": filler, "upstream_task_id": filler, "downstream_task_id": "down",
        "pool": filler, "slots": 1, "include_deferred": False, "map_index": -1, "executor": filler, "queued_by": filler,
        **values,
    }  # fmt: skip
    for name in needed:
        rows = [known]
        if name == "task" and last == "task_edge":
            rows = [{**known, "task_id": known["upstream_task_id"]}, {**known, "task_id": known["downstream_task_id"]}]
        for row in rows:
            columns = tables[name].c.keys()
            connection.execute(sa.insert(tables[name]).values({key: row[key] for key in columns if key in row}))


def incompressible(seed: int, length: int, first: int, last: int) -> str:
    """Text that Postgres cannot squeeze: it compresses long keys before it measures them."""
    letters = random.Random(seed)
    return "".join(chr(letters.randint(first, last)) for _ in range(length))


def longest(first: int, last: int) -> dict[str, str]:
    """Every id of a task instance at full length in letters of one range."""
    columns = {
        "dag_id": ID_LENGTH,
        "run_id": ID_LENGTH,
        "task_id": ID_LENGTH,
        "pool": POOL_LENGTH,
        "executor": ID_LENGTH,
    }
    return {name: incompressible(at, length, first, last) for at, (name, length) in enumerate(columns.items())}


TWO_BYTES = (0xC0, 0x24F)
FOUR_BYTES = (0x20000, 0x2A6DF)


def go_through_states(engine: sa.Engine, ids: dict[str, str]) -> dict[str, str]:
    """Insert a task instance unscheduled, take it through every index, and read its ids back."""
    tables = build_metadata(engine.dialect.name).tables
    instance = tables["task_instance"]
    with engine.begin() as connection:
        insert_chain(connection, tables, "task_instance", ids, 0)
        for state in ("scheduled", "queued", "running", "success"):
            connection.execute(sa.update(instance).values(state=state))
        return dict(connection.execute(sa.select(*(instance.c[name] for name in ids))).mappings().one())


def test_longest_ids_in_two_byte_letters(engine: sa.Engine) -> None:
    ids = longest(*TWO_BYTES)
    assert go_through_states(engine, ids) == ids


@pytest.mark.parametrize("column", ["dag_id", "run_id", "task_id", "pool", "executor"])
def test_one_id_of_four_byte_letters_beside_ordinary_ones(engine: sa.Engine, column: str) -> None:
    ids = {column: longest(*FOUR_BYTES)[column]}
    assert go_through_states(engine, ids) == ids


@pytest.mark.parametrize("engine_name", ["mysql"])
def test_longest_ids_in_four_byte_letters_on_mysql(engine: sa.Engine) -> None:
    ids = longest(*FOUR_BYTES)
    assert go_through_states(engine, ids) == ids


@pytest.mark.parametrize("engine_name", ["postgresql", "postgresql15"])
def test_longest_ids_in_four_byte_letters_on_postgres(engine: sa.Engine) -> None:
    """A row of an index has room for about 2,640 bytes of ids that do not compress; the server says so."""
    with pytest.raises(sa.exc.OperationalError, match=r"index row size 30[0-9]{2} exceeds .* maximum 2704"):
        go_through_states(engine, longest(*FOUR_BYTES))


def test_one_character_too_many_is_refused(engine: sa.Engine) -> None:
    for column, length in (("dag_id", ID_LENGTH), ("run_id", ID_LENGTH), ("task_id", ID_LENGTH), ("pool", POOL_LENGTH)):
        with pytest.raises(sa.exc.DataError, match="too long"):
            go_through_states(engine, {column: "x" * (length + 1)})
