"""What MySQL's trees say, as steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from selectq.catalogue import Query
from selectq.plans.baseline import outline
from selectq.plans.model import Node
from selectq.plans.mysql import nodes_of, tables_of

TABLES = {"ti": "task_instance", "r": "dag_run", "dag": "dag"}
TREE = """\
-> Limit: 5 row(s)  (cost=11 rows=5) (actual time=0.1..2 rows=5 loops=1)
    -> Nested loop left join  (cost=11105 rows=1.2e+6) (actual time=0.1..2 rows=5 loops=1)
        -> Sort: ti.priority_weight DESC, limit input to 5 row(s) per chunk  (actual time=0.1..1 rows=9 loops=1)
            -> Filter: (ti.pool = 'a
 -> Table scan on dag  (cost=1 rows=2)')  (cost=9 rows=9) (actual time=438e-6..0.9 rows=9 loops=1)
                -> Covering index range scan on ti using ix_a over (state = 'queued')  (cost=9 rows=9) \
(actual time=0.1..0.8 rows=12 loops=1)
        -> Single-row index lookup on r using PRIMARY (dag_id = ti.dag_id)  (cost=0.2 rows=1) \
(actual time=0.1..0.25 rows=0.4 loops=9)
        -> Table scan on r  (cost=3 rows=1) (actual time=0.1..0.2 rows=7 loops=1)
            -> Materialize CTE r if needed  (cost=2 rows=1) (never executed)
                -> Table scan on dag  (cost=1 rows=2) (never executed)
"""


def walk(text: str) -> list[Node]:
    return [node for root in nodes_of(text, TABLES) for node in root.walk()]


def test_depth_kinds_tables_and_indexes() -> None:
    [root] = nodes_of(TREE, TABLES)
    assert list(outline(root)) == [
        "Limit",
        "  Nested loop left join",
        "    Sort",
        "      Filter",
        "        Covering index range scan ix_a on task_instance",
        "    Single-row index lookup PRIMARY on dag_run",
        "    Table scan",
        "      Materialize CTE",
        "        Table scan on dag",
    ]


def test_numbers() -> None:
    nodes = walk(TREE)
    assert (nodes[1].estimated, nodes[1].rows, nodes[1].loops, nodes[1].ms) == (1_200_000, 5, 1, 2)
    assert (nodes[5].rows, nodes[5].read, nodes[5].loops, nodes[5].ms) == (0.4, 0.4, 9, 2.25)
    assert (nodes[8].estimated, nodes[8].rows, nodes[8].loops) == (2, 0, 0)
    assert "Table scan on dag" in nodes[3].text


def test_a_temporary_table_of_the_name_of_an_alias_is_no_table() -> None:
    assert walk(TREE)[6].table is None


def test_estimates_alone() -> None:
    [node] = walk("-> Table scan on dag  (cost=1.25 rows=10)\n")
    assert (node.table, node.estimated, node.rows, node.loops) == ("dag", 10, None, None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Covering index skip scan for deduplication on ti using ix_a", "Covering index skip scan for deduplication"),
        ("Materialize union CTE active if needed (query plan printed elsewhere)", "Materialize union CTE"),
        ("Materialize recursive CTE walk", "Materialize recursive CTE"),
        ("Aggregate using temporary table", "Aggregate using temporary table"),
        ("Window aggregate with buffering: max(`(a > b)`) OVER `one`", "Window aggregate with buffering"),
        ("Inner hash join (no condition)", "Inner hash join"),
        ("Update ti (buffered)", "Update"),
        ("Remove duplicates from input sorted on ix_a", "Remove duplicates from input sorted"),
        ("Rows fetched before execution", "Rows fetched before execution"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    [node] = walk(f"-> {text}  (cost=1 rows=1)\n")
    assert node.kind == kind


def test_an_alias_of_several_tables_stands_for_all() -> None:
    sql = "SELECT 1 FROM dag AS d JOIN task AS t WHERE EXISTS (SELECT 1 FROM dag_run AS t) AND d.dag_id = t.dag_id"
    tables = tables_of(Query("mysql", "a/b", 1, Path(), "", sql, {}, (), ()))
    assert (tables["d"], tables["t"], tables["task_instance"]) == ("dag", "dag_run/task", "task_instance")
