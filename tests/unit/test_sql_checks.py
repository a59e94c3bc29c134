"""The checks of the query files: none finds anything in ours, and each finds the fault that is planted for it."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from selectq.catalogue import ROOT, read_query
from selectq.checks import Finding, check_files
from selectq.checks.offline import check_query, check_strays, readable
from selectq.checks.released import check_released
from tests.query_files import FILE, POOLS, TWIN, edit, put, real_tree, small_tree

POSTGRESQL, MYSQL = "postgresql/selection", "mysql/selection"


def test_nothing_is_found_in_the_project() -> None:
    assert check_files(ROOT) == []


def test_a_finding_names_file_and_problem() -> None:
    assert str(Finding("a.sql", "is wrong")) == "a.sql: is wrong"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return small_tree(tmp_path)


def problems(root: Path, file: str = FILE) -> list[str]:
    return [finding.problem for finding in check_files(root) if finding.file == file]


def test_nothing_is_found_in_the_small_tree(small: Path) -> None:
    assert problems(small) == []
    assert problems(small, TWIN) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        # Parsing
        ("SELECT pool", "SELEC pool", "does not parse: "),
        ("WHERE slots >=", "WHERE slots >= >=", "does not parse: "),
        ("ORDER BY pool\n", "ORDER BY pool;\n", "ends with ';' or a comment: nothing may follow the statement"),
        ("ORDER BY pool\n", "ORDER BY pool -- so\n", "ends with ';' or a comment: nothing may follow the statement"),
        ("SELECT pool", "SELECT 1;\nSELECT pool", "holds 2 statements; expected exactly one"),
        ("SELECT pool, slots\n", "CREATE TABLE x AS SELECT pool, slots\n", "is no query and changes no rows: CREATE"),
        ("SELECT pool, slots\n", "EXPLAIN SELECT pool, slots\n", "is no query and changes no rows: EXPLAIN"),
        # Header
        ("origin: hand-written: it is short", "origin: by hand", "origin: expected 'generated: selectq.generate."),
        ("origin: hand-written: it is short", "origin: hand-written", "origin: expected 'generated: selectq.generate."),
        ("server: 15", "server: any", "server: 'any' is no version; expected the lowest one, such as 15"),
        ("server: 15", "server: 18", "server: 18 is above 15, the lowest version that selectq supports"),
        ("-- server", "-- engine: postgresql\n-- server", "engine: expected 'postgresql only: <why>'"),
        ("ORDER BY pool\n", "/* :slots */ ORDER BY pool\n", "':slots' in a comment or in quoted text would be bound"),
        ("ORDER BY pool\n", "AND pool <> ':slots' ORDER BY pool\n", "':slots' in a comment or in quoted text would be"),
        ("ORDER BY pool\n", "AND pool <> '\\' ORDER BY pool\n", "a backslash: the engines and SQLAlchemy each read it"),
        # Parameters
        (":least", ":least + $1", "$1 is no parameter of the catalogue's kind; expected :name"),
        (":least", ":least + ?", "? is no parameter of the catalogue's kind; expected :name"),
        # Relations
        ("FROM slot_pool", "FROM slot_pol", "table slot_pol is not in the schema"),
        ("slots\nFROM", "slotz AS slots\nFROM", "slotz: no such column"),
        ("SELECT pool,", "SELECT slot_pool.pol AS pool,", "slot_pool.pol: no such column in slot_pool"),
        ("SELECT pool,", "SELECT p.pool,", "p.pool: nothing is called p here"),
        ("WHERE slots", "WHERE slotz", "slotz: no such column"),
        ("ORDER BY pool", "ORDER BY pol", "pol: no such column"),
        ("pool, slots\n", "slot_pool.*\n", "slot_pool.* over table slot_pool; name the columns"),
        ("SELECT pool, slots\n", "SELECT *\n", "* over table slot_pool; name the columns"),
        ("SELECT pool,", "WITH d AS (SELECT dag_id FROM dag)\nSELECT pool,", "CTE d is not used"),
        ("SELECT pool,", "WITH d AS (SELECT pool FROM dag)\nSELECT pool,", "pool: no such column"),
        ("WHERE slots", "WHERE pool IN (SELECT task_pool FROM task) AND slots", "task_pool: no such column"),
        ("FROM slot_pool", "FROM (SELECT pool FROM slot_pool) AS slot_pool", "slots: no such column"),
        ("FROM slot_pool", "FROM slot_pool JOIN dag ON dag.pool = slot_pool.pool", "dag.pool: no such column in dag"),
        (
            "FROM slot_pool",
            "FROM slot_pool CROSS JOIN LATERAL (SELECT slot_pool.dag_id) AS x",
            "slot_pool.dag_id: no such column in slot_pool",
        ),
        # Outputs
        ("SELECT pool, slots\n", "SELECT slots, pool\n", "columns are returned in another order than declared: slots"),
        ("SELECT pool, slots\n", "SELECT pool\n", "columns: declared, not returned: slots; returned, not"),
        ("pool, slots\n", "pool, slots AS s\n", "columns: declared, not returned: slots; returned, not declared: s"),
        ("SELECT pool, slots\nFROM slot_pool\n", "DELETE FROM slot_pool\n", "result: 'rows' is declared, but"),
        # Locks
        ("ORDER BY pool\n", "ORDER BY pool\nFOR UPDATE\n", "locks: 'none' is declared, but there is FOR UPDATE"),
        ("locks: none", "locks: the pools", "locks: 'the pools' is declared, but the statement locks nothing"),
        # Windows
        (
            "WHERE slots >=",
            "WHERE (SELECT sum(slots) OVER (ORDER BY pool) FROM slot_pool) >=",
            "SUM(slots) OVER (ORDER BY pool): an ordered window needs a ROWS frame (ROWS UNBOUNDED PRECEDING)",
        ),
        # Hints
        ("SELECT pool", "SELECT /*+ SeqScan(slot_pool) */ pool", "/*+ */ means nothing to postgresql"),
        # Engines
        ("-- result: rows", "-- result: row", "result is 'row', on mysql 'rows'"),
        ("column slots: integer", "column slots: text", "columns differ from mysql's: slots integer, slots text"),
        ("-- server", "-- engine: postgresql only: so\n-- server", "says 'postgresql only: so', but mysql has it too"),
    ],
)
def test_a_planted_fault_is_found(small: Path, old: str, new: str, problem: str) -> None:
    edit(small, FILE, old, new)
    assert [found for found in problems(small) if found.startswith(problem)], problems(small)


@pytest.mark.parametrize(
    ("hint", "problem"),
    [
        ("FORCE INDEX (PRIMARY)", None),
        ("USE INDEX (ix_pools)", "index ix_pools is not in the schema"),
        ("WHERE pool NOT IN (SELECT pool FROM task_instance USE INDEX (ix_task_instance_active)) AND pool <> ''", None),
    ],
)
def test_hints_of_indexes(small: Path, hint: str, problem: str | None) -> None:
    edit(small, TWIN, "FROM slot_pool\nWHERE", f"FROM slot_pool {hint}\n{'AND' if 'WHERE' in hint else 'WHERE'}")
    assert problems(small, TWIN) == ([problem] if problem else [])


@pytest.mark.parametrize(
    "condition",
    [
        "EXISTS (SELECT 1 FROM dag WHERE dag.dag_id = slot_pool.pool AND slots > 0)",
        "(SELECT count(*) AS n FROM dag GROUP BY is_paused HAVING n > 1 ORDER BY n) > 0",
        "(SELECT sum(slots) OVER w FROM slot_pool WINDOW w AS (ORDER BY pool ROWS UNBOUNDED PRECEDING)) > 0",
        "(SELECT rank() OVER (ORDER BY pool) FROM slot_pool) > 0",
        "(SELECT sum(slots) OVER (PARTITION BY pool) FROM slot_pool) > 0",
        "pool IN (WITH d AS (SELECT dag_id AS x FROM dag) SELECT d.x FROM d)",
        "pool IN (SELECT a FROM (SELECT pool FROM slot_pool) AS s (a))",
        "pool IN (SELECT pool FROM task UNION ALL SELECT dag_id FROM dag ORDER BY pool)",
        "0 IN (WITH RECURSIVE r AS (SELECT 1 AS n FROM task UNION ALL SELECT n + 1 FROM r) SELECT n FROM r)",
    ],
)
def test_what_is_right_is_let_through(small: Path, condition: str) -> None:
    for file in (FILE, TWIN):
        edit(small, file, "WHERE slots", f"WHERE {condition} AND slots")
    assert problems(small) == problems(small, TWIN) == []


CLAIM, LOCK, SELECT = ("claim.v1.sql", "lock_holders.v1.sql", "select_executable.v1.sql")
MARK = "mysql/selection/mark_queued.v1.sql"


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        (f"{POSTGRESQL}/{CLAIM}", "FOR UPDATE OF t SKIP LOCKED", "FOR UPDATE OF t", "locks: SKIP LOCKED is declared"),
        (f"{POSTGRESQL}/{CLAIM}", "SKIP LOCKED: one", "one", "locks: SKIP LOCKED is there, but not declared"),
        (f"{POSTGRESQL}/{CLAIM}", "OF t SKIP", "OF tis SKIP", "FOR UPDATE OF tis SKIP LOCKED: nothing is"),
        (f"{POSTGRESQL}/{CLAIM}", "queued_dttm = current", "queued_dtm = current", "queued_dtm: no such column"),
        (f"{POSTGRESQL}/{CLAIM}", "c.place, ti.dag_id", "c.place, ti.dagid", "ti.dagid: no such column in task_in"),
        (f"{POSTGRESQL}/{CLAIM}", "c.fits AND", "c.fit AND", "c.fit: no such column"),
        (f"{POSTGRESQL}/{CLAIM}", "j.place,", "j.plac,", "j.plac: no such column"),
        (f"{POSTGRESQL}/{CLAIM}", "-- locks: the task instances", "-- locks: some", "locks: the statement locks"),
        (f"{POSTGRESQL}/{LOCK}", "the dag runs, then", "", "locks: the statement locks rows of dag_run"),
        (f"{POSTGRESQL}/{SELECT}", "r.ctid AS", "r.ctd AS", "r.ctd: no such column in dag_run"),
        (f"{POSTGRESQL}/{SELECT}", "behind.up_to = lane.size", "behind.up_to = lane.sizes", "lane.sizes: no such"),
        (f"{MYSQL}/{SELECT}", "INDEX(ti ix_task_instance_sel", "INDEX(ti PRIMARY, ix_sel", "index ix_selection is"),
        (f"{MYSQL}/{SELECT}", "SELECT /*+ JOIN_FIXED_ORDER() NO_B", "SELECT 1, /*+ NO_B", "/*+ */ stands"),
        (f"{MYSQL}/{SELECT}", "HAVING free", "HAVING fre", "fre: no such column"),
        (MARK, "ti.queued_by =", "ti.queued_bye =", "ti.queued_bye: no such column in task_instance"),
        (MARK, "ON ti.dag_id", "ON ti.dag", "ti.dag: no such column in task_instance"),
        (MARK, "PATH '$[4]'", "PATH '$[4]' -- :x", "':x' in a comment or in quoted text"),
        (MARK, "-- result: count", "-- column x: text\n-- result: row", "result: 'row' is declared,"),
        (MARK, "-- engine: mysql only", "-- engine: mysql", "engine: expected 'mysql only: <why>'"),
        (MARK, "-- locks: the task instances", "-- locks: x", "locks: the statement locks rows of"),
    ],
)
def test_a_fault_in_a_real_file_is_found(tmp_path: Path, file: str, old: str, new: str, problem: str) -> None:
    put(tmp_path, file, (ROOT / file).read_text())
    edit(tmp_path, file, old, new)
    found = list(check_query(read_query(tmp_path / file, tmp_path)))
    assert [text for text in found if text.startswith(problem)], found


def test_a_generated_file_that_was_edited(tmp_path: Path) -> None:
    root = real_tree(tmp_path)
    edit(root, f"{POSTGRESQL}/open_pools.v1.sql", "COUNT(*)", "COUNT( *)")
    assert problems(root, f"{POSTGRESQL}/open_pools.v1.sql") == [
        "is not what its generator makes; run 'selectq sql generate'"
    ]


def test_a_lock_may_wait_for_nothing(small: Path) -> None:
    for file in (FILE, TWIN):
        edit(small, file, "locks: none", "locks: the pools, NOWAIT")
        edit(small, file, "ORDER BY pool\n", "ORDER BY pool\nFOR UPDATE NOWAIT\n")
    assert problems(small) == problems(small, TWIN) == []


def test_a_count_that_returns_rows(small: Path) -> None:
    edit(small, FILE, "-- column pool: text\n-- column slots: integer; -1 = unlimited\n", "")
    edit(small, FILE, "-- result: rows", "-- result: count")
    assert "result: 'count' is for a statement that changes rows and returns none" in problems(small)


def test_rows_of_a_change(small: Path) -> None:
    edit(small, FILE, "-- locks: none", "-- locks: the pools")
    change = "UPDATE slot_pool SET slots = slots WHERE slots >= :least RETURNING pool, slots\n"
    (small / FILE).write_text((small / FILE).read_text().partition("SELECT")[0] + change)
    assert problems(small) == []
    edit(small, FILE, "RETURNING pool", "RETURNING poll AS pool")
    assert problems(small) == ["poll: no such column"]


UPSERT = "INSERT INTO slot_pool (pool, slots) VALUES ('p', 1) ON CONFLICT (pool) DO UPDATE SET slots ="


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("INSERT INTO slot_pool (pool, slots) VALUES ('p', :least)", None),
        ("INSERT INTO slot_pool (pool, slotz) VALUES ('p', :least)", "slotz: no such column"),
        ("INSERT INTO slot_pool (pool, slots) SELECT dag_id, :least FROM dag", None),
        ("INSERT INTO slot_pool (pool, slots) SELECT dag_id, :least FROM dags", "table dags is not in the schema"),
        (f"{UPSERT} excluded.slots + :least", None),
        (f"{UPSERT} excluded.slotz + :least", "excluded.slotz: no such column in slot_pool"),
        ("DELETE FROM slot_pool WHERE slots = :least", None),
        ("DELETE FROM slot_pool WHERE slotz = :least", "slotz: no such column"),
    ],
)
def test_changes_of_rows(small: Path, change: str, problem: str | None) -> None:
    edit(small, FILE, "-- column pool: text\n-- column slots: integer; -1 = unlimited\n", "")
    edit(small, FILE, "-- result: rows", "-- result: count")
    edit(small, FILE, "-- locks: none", "-- locks: the pools")
    (small / FILE).write_text((small / FILE).read_text().partition("SELECT")[0] + change + "\n")
    found = [text for text in problems(small) if "mysql" not in text]
    assert found == ([problem] if problem else [])


def test_a_query_on_one_engine_alone(small: Path) -> None:
    (small / TWIN).unlink()
    assert problems(small) == [
        "mysql has no selection/pools.v1; add it, or say why not under 'engine: postgresql only:'"
    ]
    edit(small, FILE, "-- server", "-- engine: postgresql only: for a reason\n-- server")
    assert problems(small) == []


def test_a_version_on_one_engine_alone(small: Path) -> None:
    second = POOLS.format(server="8.4").replace("-- version: 1", "-- version: 2")
    put(small, f"{MYSQL}/pools.v2.sql", second)
    assert problems(small, f"{MYSQL}/pools.v2.sql") == [
        "postgresql has no selection/pools.v2; add it, or say why not under 'engine: mysql only:'"
    ]


def test_a_file_that_cannot_be_read_hides_no_other(small: Path) -> None:
    edit(small, FILE, "-- limits: none\n", "")
    edit(small, TWIN, "slot_pool", "slot_pol")
    queries, findings = readable(small)
    assert [query.file for query in queries] == [TWIN]
    assert findings == [Finding(FILE, "header lacks limits")]
    assert "table slot_pol is not in the schema" in problems(small, TWIN)
    assert problems(small) == ["header lacks limits"]


def test_files_that_nobody_would_read(small: Path) -> None:
    for file in ("oracle/selection/pools.v1.sql", f"{MYSQL}/notes.txt", "pools.sql"):
        put(small, file, "SELECT 1\n")
    put(small, "CATALOGUE.md", "")
    assert {finding.file for finding in check_strays(small)} == {
        "oracle/selection/pools.v1.sql",
        f"{MYSQL}/notes.txt",
        "pools.sql",
    }


def test_a_generated_file_that_nothing_generates(small: Path) -> None:
    generated = "origin: generated: selectq.generate.pools.pools, by 'selectq sql generate'; edit that, not this file"
    edit(small, FILE, "origin: hand-written: it is short", generated)
    assert problems(small) == ["is marked as generated, but nothing generates it"]


def test_a_generated_file_that_is_missing(tmp_path: Path) -> None:
    root = real_tree(tmp_path)
    (root / MYSQL / "open_pools.v1.sql").unlink()
    assert problems(root, f"{MYSQL}/open_pools.v1.sql") == [
        "is not what its generator makes; run 'selectq sql generate'"
    ]


def test_the_page_belongs_to_the_files(tmp_path: Path) -> None:
    root = real_tree(tmp_path)
    edit(root, f"{POSTGRESQL}/{CLAIM}", "name of the scheduler", "a name")
    assert problems(root, "CATALOGUE.md") == ["is not what its generator makes; run 'selectq sql generate'"]


def release(root: Path, *files: str) -> None:
    lines = [f"{hashlib.sha256((root / file).read_bytes()).hexdigest()}  {file}\n" for file in files]
    (root / "released.lock").write_text("# released\n\n" + "".join(lines))


def test_released_files_that_are_unchanged(small: Path) -> None:
    release(small, FILE, TWIN)
    assert list(check_released(small)) == []


def test_the_lock_is_what_sha256sum_writes(small: Path) -> None:
    written = subprocess.run(["sha256sum", FILE, TWIN], cwd=small, capture_output=True, check=True).stdout
    (small / "released.lock").write_bytes(written)
    assert list(check_released(small)) == []


def test_a_released_file_that_changed(small: Path) -> None:
    release(small, FILE, TWIN)
    edit(small, FILE, "ORDER BY pool", "ORDER BY  pool")
    assert list(check_released(small)) == [
        Finding(FILE, "was released and has changed; restore it and make the change a new version")
    ]


def test_a_released_file_that_is_gone(small: Path) -> None:
    release(small, FILE, TWIN)
    (small / FILE).unlink()
    assert list(check_released(small)) == [Finding(FILE, "was released and is gone; restore it")]


def test_a_lock_file_that_is_wrong(small: Path) -> None:
    release(small, FILE, FILE)
    lock = small / "released.lock"
    lock.write_text(lock.read_text() + f"{'A' * 64}  {TWIN}\nclaim.v1.sql\n")
    assert [finding.problem for finding in check_released(small)] == [
        f"line 4: {FILE} is named twice",
        "line 5: expected '<SHA-256 in hex>  <path below sql/>'",
        "line 6: expected '<SHA-256 in hex>  <path below sql/>'",
    ]
    lock.unlink()
    assert list(check_released(small)) == [
        Finding("released.lock", "is missing; it names the released files and may be empty")
    ]


def test_nothing_is_released_before_0_1_0() -> None:
    lines = (ROOT / "released.lock").read_text().splitlines()
    assert lines
    assert all(line.startswith("#") for line in lines)
