"""Query files as the catalogue reads them: what it makes of them, and each message about one that is wrong."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from selectq.catalogue import (
    DIALECTS,
    Catalogue,
    Field,
    PlanWaiver,
    default_catalogue,
    read_query,
    replace_parameters,
    used_parameters,
)
from selectq.errors import QueryFileError, QueryNotFoundError
from selectq.generate.catalogue_page import catalogue_page
from tests.query_files import FILE, POOLS, TWIN, edit, put, small_tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return small_tree(tmp_path)


def test_a_file_becomes_a_query(root: Path) -> None:
    query = read_query(root / FILE, root)

    assert (query.dialect, query.name, query.version) == ("postgresql", "selection/pools", 1)
    assert (query.id, query.file) == ("selection/pools.v1", FILE)
    assert query.purpose == "Pools with at least so many slots."
    assert query.result == "rows"
    assert query.parameters == (Field("least", "integer", "slots"),)
    assert query.parameter_names == {"least"}
    assert query.columns == (Field("pool", "text", ""), Field("slots", "integer", "-1 = unlimited"))
    assert query.sql == "SELECT pool, slots\nFROM slot_pool\nWHERE slots >= :least\nORDER BY pool\n"
    assert query.digest == hashlib.sha256((root / FILE).read_bytes()).hexdigest()
    assert query.header["server"] == "15"


def test_a_header_line_may_go_on_below(root: Path) -> None:
    edit(root, FILE, "-- limits: none", "-- limits: none; this\n--   goes on")
    assert read_query(root / FILE, root).header["limits"] == "none; this goes on"


def test_the_result_may_be_explained(root: Path) -> None:
    edit(root, FILE, "-- result: rows", "-- result: rows, by name")
    assert read_query(root / FILE, root).result == "rows"


def test_plan_waivers_are_read_and_listed_on_the_page(root: Path) -> None:
    lines = "-- plan-waiver: floods/stale: reads a lot, and\n--   may\n-- plan-waiver: Hash Join: a: b\n"
    edit(root, FILE, "-- locks: none\n", "-- locks: none\n" + lines)
    query = read_query(root / FILE, root)
    assert query.plan_waivers == (PlanWaiver("floods/stale", "reads a lot, and may"), PlanWaiver("Hash Join", "a: b"))
    page = catalogue_page([query])
    assert "- plan waiver, PostgreSQL, floods/stale: reads a lot, and may\n- plan waiver, PostgreSQL, Hash" in page


WITHOUT_LIMITS_AND_SERVER = POOLS.replace("-- limits: none\n", "").replace("-- server: {server}\n", "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-- limits: none\n", "", "header lacks limits"),
        ("-- locks: none", "-- locks: none\n-- plan-waiver: stale", "header line '-- plan-waiver: stale' is not"),
        ("-- locks: none", "-- locks: none\n-- plan-waiver: : why", "header line '-- plan-waiver: : why' is not"),
        (
            "-- locks: none",
            "-- locks: none\n-- plan-waiver: stale: a\n-- plan-waiver: stale: b",
            "plan-waiver stale: declared twice",
        ),
        ("-- locks: none", "-- locks: none\n-- plan-waivers: a: b", "header line '-- plan-waivers: a: b': unknown"),
        (POOLS.format(server="15"), WITHOUT_LIMITS_AND_SERVER, "header lacks limits, server"),
        (POOLS.format(server="15"), "", "header lacks name, version, purpose, result, locks, isolation, limits"),
        ("-- limits: none", "--limits: none", "header line '--limits: none' is not '-- key: value' or '-- "),
        ("-- limits: none", "-- limits:", "header line '-- limits:' is not '-- key: value'"),
        ("-- limits: none", "-- limits: none\n-- limit: 3", "header line '-- limit: 3': unknown or repeated key"),
        ("-- limits: none", "-- limits: none\n-- limits: a", "header line '-- limits: a': unknown or repeated key"),
        ("-- limits: none", "-- limits pool: none", "header line '-- limits pool: none': unknown or repeated key"),
        ("-- param least: integer", "-- param: integer", "header line '-- param: integer; slots': unknown or"),
        ("least: integer", "least: number", "param least: type 'number' is none of text, integer, boolean, timestamp"),
        ("column pool: text", "column pool: varchar; x", "column pool: type 'varchar' is none of text, integer"),
        ("-- column slots: integer", "-- column pool: integer", "column pool: declared twice"),
        ("-- column pool", "-- param least: text\n-- column pool", "param least: declared twice"),
        ("selection/pools", "selection/pool", "header says selection/pool version 1, the path says selection/pools v"),
        ("-- version: 1", "-- version: 2", "header says selection/pools version 2, the path says selection/pools v"),
        ("-- result: rows", "-- result: table", "result: 'table' does not begin with one of rows, row, count"),
        ("-- result: rows", "-- result: count", "a query has either columns or the result 'count'"),
        ("-- column pool: text\n-- column slots: integer; -1 = unlimited\n", "", "a query has either columns or"),
        (">= :least", ">= 1", "parameters declared and parameters used differ: least"),
        (":least", ":leest", "parameters declared and parameters used differ: least, leest"),
        ("-- param least: integer; slots\n", "", "parameters declared and parameters used differ: least"),
    ],
)
def test_what_is_wrong_is_named(root: Path, old: str, new: str, message: str) -> None:
    edit(root, FILE, old, new)
    with pytest.raises(QueryFileError) as refused:
        Catalogue.load(root)
    assert str(refused.value).startswith(f"{FILE}: {message}")


@pytest.mark.parametrize(
    "file",
    [
        "postgresql/pools.v1.sql",
        "postgresql/selection/deep/pools.v1.sql",
        "postgresql/selection/pools.sql",
        "postgresql/selection/pools.v0.sql",
        "postgresql/selection/pools.v01.sql",
        "postgresql/selection/Pools.v1.sql",
        "postgresql/selection/more pools.v1.sql",
    ],
)
def test_a_path_that_is_wrong_is_named(root: Path, file: str) -> None:
    put(root, file, POOLS.format(server="15"))
    with pytest.raises(QueryFileError) as refused:
        Catalogue.load(root)
    assert str(refused.value) == f"{file}: expected <dialect>/<area>/<query>.v<N>.sql"


def test_a_file_that_is_not_utf_8_is_named(root: Path) -> None:
    (root / FILE).write_bytes(b"-- name: \xe9\n")
    with pytest.raises(QueryFileError, match="not UTF-8 at byte 9"):
        Catalogue.load(root)


@pytest.fixture
def versions(root: Path) -> Catalogue:
    """Versions 1, 2 and 10 on PostgreSQL, 1 on MySQL."""
    for version in (2, 10):
        text = POOLS.format(server="15").replace("-- version: 1", f"-- version: {version}")
        put(root, f"postgresql/selection/pools.v{version}.sql", text)
    return Catalogue.load(root)


def test_get_takes_the_newest_version_unless_asked(versions: Catalogue) -> None:
    assert versions.get("selection/pools", "postgresql").version == 10
    assert versions.get("selection/pools", "postgresql", 2).version == 2
    assert versions.get("selection/pools", "mysql").file == TWIN
    assert sorted((query.dialect, query.version) for query in versions) == [
        ("mysql", 1),
        ("postgresql", 1),
        ("postgresql", 2),
        ("postgresql", 10),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pools", "mysql"), "no query 'pools' for mysql; there are: selection/pools"),
        (("selection/pools", "sqlite"), "no query 'selection/pools' for sqlite; there are: none"),
        (("selection/pools", "postgresql", 3), "no version 3 of 'selection/pools' for postgresql; there are: 1, 2, 10"),
    ],
)
def test_get_says_what_there_is(versions: Catalogue, arguments: tuple[str, str], message: str) -> None:
    with pytest.raises(QueryNotFoundError) as refused:
        versions.get(*arguments)
    assert str(refused.value) == message


HIDING = """\
SELECT ':a', "b:c :d", `:e`, x::text, y:f, 'it''s :g' -- :h isn't one
/* :i */ FROM t WHERE n = :real_1 AND m=:other
"""


def test_parameters_are_not_sought_in_comments_or_quotes() -> None:
    assert used_parameters(HIDING) == {"real_1", "other"}
    assert replace_parameters(HIDING, str.upper) == HIDING.replace(":real_1", "REAL_1").replace(":other", "OTHER")


def test_the_shipped_catalogue_is_read_once_and_complete() -> None:
    shipped = default_catalogue()
    assert default_catalogue() is shipped
    assert {query.dialect for query in shipped} == set(DIALECTS)
    assert {query.path.name for query in shipped} == {
        path.name for path in Path(__file__).parents[2].joinpath("sql").rglob("*.sql")
    }
