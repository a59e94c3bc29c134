"""What PostgreSQL's JSON says, as steps."""

from __future__ import annotations

from typing import Any

from selectq.plans.model import Plan
from selectq.plans.postgresql import node_of

SCAN: dict[str, Any] = {
    "Node Type": "Index Scan",
    "Parallel Aware": False,
    "Relation Name": "task_instance",
    "Alias": "ti",
    "Index Name": "pk_task_instance",
    "Plan Rows": 8,
    "Actual Rows": 2.5,
    "Actual Loops": 4,
    "Actual Total Time": 0.5,
    "Rows Removed by Filter": 3,
    "Shared Hit Blocks": 20,
    "Shared Read Blocks": 2,
    "Index Cond": "(dag_id = 'd')",
}
FILTER: dict[str, Any] = {
    **SCAN,
    "Node Type": "Seq Scan",
    "Relation Name": "dag",
    "Alias": "dag",
    "Shared Hit Blocks": 5,
    "Shared Read Blocks": 0,
    "Subplan Name": "InitPlan 1 (returns $0)",
}
del FILTER["Index Name"]


def test_rows_read_are_those_returned_and_filtered_out_in_all_loops() -> None:
    plan = Plan((node_of(SCAN),), analyzed=True)
    assert plan.rows_read() == {"task_instance": 22}
    [access] = plan.accesses
    assert (access.path, access.loops, access.rows, access.pages) == ("Index Scan pk_task_instance", 4, 22, 22)
    assert plan.ms == 2


def test_pages_of_a_scan_leave_out_those_of_the_queries_in_its_conditions() -> None:
    node = node_of({**SCAN, "Plans": [FILTER]})
    assert (node.pages, node.children[0].pages) == (17, 5)
    assert node.children[0].text == "InitPlan: Seq Scan on dag"


def test_a_bitmap_scan_reads_by_the_indexes_below_it() -> None:
    below = [{"Node Type": "Bitmap Index Scan", "Index Name": name} for name in ("ix_b", "ix_a")]
    both = {"Node Type": "BitmapOr", "Plans": below}
    heap = {"Node Type": "Bitmap Heap Scan", "Relation Name": "dag_run", "Alias": "dag_run", "Plans": [both]}
    [access] = Plan((node_of(heap),), analyzed=False).accesses
    assert (access.table, access.path, access.rows) == ("dag_run", "Bitmap Heap Scan ix_a+ix_b", None)


def test_kinds() -> None:
    def kind(**fields: object) -> str:
        return node_of({key.replace("_", " "): value for key, value in fields.items()}).kind

    assert kind(Node_Type="Hash Join", Join_Type="Left") == "Hash Left Join"
    assert kind(Node_Type="Nested Loop", Join_Type="Anti") == "Nested Loop Anti Join"
    assert kind(Node_Type="Nested Loop", Join_Type="Inner") == "Nested Loop"
    assert kind(Node_Type="Aggregate", Strategy="Hashed") == "HashAggregate"
    assert kind(Node_Type="Aggregate", Strategy="Plain") == "Aggregate"
    assert kind(Node_Type="ModifyTable", Operation="Update", Relation_Name="dag") == "Update"
    assert kind(Node_Type="Seq Scan", Parallel_Aware=True) == "Parallel Seq Scan"


def test_what_changes_a_table_does_not_read_it() -> None:
    change = {"Node Type": "ModifyTable", "Operation": "Update", "Relation Name": "task_instance", "Plans": [SCAN]}
    assert Plan((node_of(change),), analyzed=True).rows_read() == {"task_instance": 22}
