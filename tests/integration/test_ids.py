"""Ids compare as bytes on every engine, and how long they may be."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
import sqlalchemy as sa

from selectq.schema import ID_LENGTH, KEY_BYTES, POOL_LENGTH, TI_STATES, build_metadata

Ids = Mapping[str, str | None]
"""By column."""

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
    distinct = tuple(value for value in DISTINCT if value or column != "executor")
    with engine.begin() as connection:
        for number, value in enumerate(distinct):
            insert_chain(connection, tables, table, {column: value}, number)
        target = tables[table].c[column]

        assert connection.scalars(sa.select(target).order_by(target)).all() == byte_order(distinct)
        assert connection.scalar(sa.select(sa.func.count(sa.distinct(target)))) == len(distinct)
        for value in distinct:
            assert connection.scalars(sa.select(target).where(target == value)).all() == [value]


def insert_chain(connection: sa.Connection, tables: Any, last: str, values: Ids, number: int) -> None:
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


LETTERS = {2: (0xC0, 0x24F), 3: (0x4E00, 0x9FFF), 4: (0x20000, 0x2A6DF)}
"""Ranges of letters by the bytes that each takes."""


def incompressible(seed: int, length: int, letter: int) -> str:
    """Letters of so many bytes that Postgres cannot squeeze: it compresses long keys before it measures them."""
    letters = random.Random(seed)
    return "".join(chr(letters.randint(*LETTERS[letter])) for _ in range(length))


COUNTS_TWICE = {"executor"}
INSTANCE = {"dag_id": ID_LENGTH, "run_id": ID_LENGTH, "task_id": ID_LENGTH, "pool": POOL_LENGTH, "executor": ID_LENGTH}
EDGE = {"dag_id": ID_LENGTH, "upstream_task_id": ID_LENGTH, "downstream_task_id": ID_LENGTH}


def longest(lengths: dict[str, int], letter: int, largest: int, total: int = KEY_BYTES) -> dict[str, str]:
    """Ids of ``total`` bytes together, or of full length each if that takes less.

    Args:
        lengths: characters that each column takes; the first columns are filled first, the last get a byte at least.
        letter: bytes of a letter; what is left of a column's share is made up by letters of one byte.
        largest: most bytes of one column.
    """
    ids = {}
    bytes_after = sum(weight(column) for column in lengths)
    for seed, (column, length) in enumerate(lengths.items()):
        bytes_after -= weight(column)
        share = min((total - bytes_after) // weight(column), largest, length * letter)
        total -= share * weight(column)
        ids[column] = incompressible(seed, share // letter, letter) + "x" * (share % letter)
    return ids


def weight(column: str) -> int:
    return 2 if column in COUNTS_TWICE else 1


def shapes(lengths: dict[str, int], letter: int, total: int = KEY_BYTES) -> list[dict[str, str]]:
    """The first columns full, the last columns full, and all alike, of lengths that Postgres has to pad."""
    from_last = dict(reversed(lengths.items()))
    alike = total // len(lengths) // 4 * 4 + 5
    return [
        longest(lengths, letter, total, total),
        longest(from_last, letter, total, total),
        longest(lengths, letter, alike, total),
    ]


def instances(letter: int, total: int = KEY_BYTES) -> list[Ids]:
    """Shapes of a task instance's ids, with an executor and with none."""
    named = {column: length for column, length in INSTANCE.items() if column != "executor"}
    return [*shapes(INSTANCE, letter, total), *({**ids, "executor": None} for ids in shapes(named, letter, total))]


def go_through_states(engine: sa.Engine, ids: Ids) -> Ids:
    """Insert a task instance unscheduled, take it through every index, and read its ids back."""
    tables = build_metadata(engine.dialect.name).tables
    instance = tables["task_instance"]
    with engine.connect() as connection:
        insert_chain(connection, tables, "task_instance", ids, 0)
        for state, logical_date in product(TI_STATES, (None, datetime(2026, 1, 1, tzinfo=UTC))):
            connection.execute(sa.update(instance).values(state=state, logical_date=logical_date))
        return dict(connection.execute(sa.select(*(instance.c[name] for name in ids))).mappings().one())


@pytest.mark.parametrize("letter", LETTERS)
def test_longest_ids_fit_all_indexes(engine: sa.Engine, letter: int) -> None:
    for ids in instances(letter):
        assert go_through_states(engine, ids) == ids


@pytest.mark.parametrize("letter", [3, 4])
def test_ids_too_long_together_are_refused_at_once(engine: sa.Engine, letter: int) -> None:
    for ids in instances(letter, KEY_BYTES + 2):
        refuse(engine, "task_instance", ids, "ck_task_instance_key_bytes")


@pytest.mark.parametrize("letter", LETTERS)
def test_longest_ids_of_an_edge(engine: sa.Engine, letter: int) -> None:
    tables = build_metadata(engine.dialect.name).tables
    for ids in shapes(EDGE, letter):
        with engine.connect() as connection:
            insert_chain(connection, tables, "task_edge", ids, 0)


def test_ids_of_an_edge_too_long_together(engine: sa.Engine) -> None:
    for ids in shapes(EDGE, 4, KEY_BYTES + 1):
        refuse(engine, "task_edge", ids, "ck_task_edge_key_bytes")


@pytest.mark.parametrize("table", ["task", "task_instance"])
def test_the_default_executor_is_null_and_not_empty(engine: sa.Engine, table: str) -> None:
    refuse(engine, table, {"executor": ""}, f"ck_{table}_executor")


def refuse(engine: sa.Engine, table: str, ids: Ids, check: str) -> None:
    """The row is refused when it is inserted, by this check; MySQL's driver has another class for that."""
    tables = build_metadata(engine.dialect.name).tables
    with (
        engine.connect() as connection,
        pytest.raises((sa.exc.IntegrityError, sa.exc.OperationalError), match=check) as refused,
    ):
        insert_chain(connection, tables, table, ids, 0)
    assert f"INSERT INTO {table} " in str(refused.value.statement)


@pytest.mark.parametrize("column", INSTANCE)
def test_one_id_of_four_byte_letters_beside_ordinary_ones(engine: sa.Engine, column: str) -> None:
    ids = longest({column: INSTANCE[column]}, 4, KEY_BYTES)
    assert go_through_states(engine, ids) == ids


def test_one_character_too_many_is_refused(engine: sa.Engine) -> None:
    for column, length in (("dag_id", ID_LENGTH), ("run_id", ID_LENGTH), ("task_id", ID_LENGTH), ("pool", POOL_LENGTH)):
        with pytest.raises(sa.exc.DataError, match="too long"):
            go_through_states(engine, {column: "x" * (length + 1)})
