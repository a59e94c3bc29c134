"""Make the instances of mapped tasks and groups whose length in a run has become known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from selectq.database import check_isolation
from selectq.errors import InvalidParameterError
from selectq.executor import query_for, run, run_count
from selectq.parameters import check_length, check_text
from selectq.upstream import counts


@dataclass(frozen=True, slots=True)
class Node:
    """A group, or a task that is mapped or in a mapped group; ``parent`` is the group around it."""

    node_id: str
    is_task: bool
    is_mapped: bool
    parent_id: str
    length: int | None


@dataclass(frozen=True, slots=True)
class Expanded:
    """What an expansion did.

    ``grown``: tasks that have another number of task instances than before. ``inserted``, ``removed``, ``restored``:
    task instances.
    """

    grown: tuple[str, ...]
    inserted: int
    removed: int
    restored: int


def expand(connection: sa.Connection, dag_id: str, run_id: str, node_id: str, length: int) -> Expanded:
    """Give a mapped task, or all in a mapped group, the instances that its length asks for. The caller commits.

    Missing instances are made; those beyond the length become ``removed`` unless they are handed out (``queued``,
    ``running``, ``deferred``, ``restarting``); removed ones within it are decided again. A placeholder makes room for
    the instances, or is skipped if the length is 0; one that ended otherwise stays, and nothing is made beside it.
    Inside a mapped group lengths multiply. To do the same again changes nothing.

    Args:
        node_id: a task with ``is_mapped``, or a group with it.
        length: of the list that it is expanded over, at least 0.

    Raises:
        InvalidParameterError: a parameter is wrong, or the connection is not READ COMMITTED.
        SchemaVersionError: the tables are missing.
    """
    for field, value in (("dag_id", dag_id), ("run_id", run_id), ("task_id", node_id)):
        check_text(field, value)
    check_length(length)
    check_isolation(connection)
    if not run(connection, query_for(connection, "upstream/lock_run"), dag_id=dag_id, run_id=run_id):
        raise InvalidParameterError("run_id", f"there is no run {run_id!r} of dag {dag_id!r}")
    rows = run(connection, query_for(connection, "upstream/mapped_nodes"), dag_id=dag_id, run_id=run_id)
    nodes = {row["node_id"]: Node(**row) for row in rows}
    node = nodes.get(node_id)
    if node is None or not node.is_mapped:
        around = next((group for group in groups_around(nodes, node) if group.is_mapped), None) if node else None
        fix = f"; it is expanded with the group {around.node_id!r}" if around else "; set is_mapped where it is defined"
        raise InvalidParameterError("task_id", f"{node_id!r} is not mapped in dag {dag_id!r}{fix}")
    nodes[node_id] = Node(node.node_id, node.is_task, True, node.parent_id, length)
    sizes = {name: size for name in nodes if (size := size_of(nodes, name)) is not None}
    touched = [other for other in nodes.values() if other is nodes[node_id] or node_id in around_ids(nodes, other)]
    if node_id not in sizes:
        around = next(group for group in groups_around(nodes, node) if group.is_mapped and group.length is None)
        raise InvalidParameterError("task_id", f"{node_id!r} is in {around.node_id!r}; expand that first")
    return write(connection, dag_id, run_id, [node for node in touched if node.node_id in sizes], sizes)


def write(
    connection: sa.Connection, dag_id: str, run_id: str, touched: Sequence[Node], sizes: Mapping[str, int]
) -> Expanded:
    names = [node.node_id for node in touched if node.is_task]
    tasks = [{"task_id": name, "size": sizes[name]} for name in names]
    mapped = [node for node in touched if node.is_mapped]
    nodes = [{"node_id": node.node_id, "length": node.length, "size": sizes[node.node_id]} for node in mapped]

    def change(name: str, **lists: Any) -> int:
        query = query_for(connection, f"upstream/{name}")
        return run_count(connection, query, dag_id=dag_id, run_id=run_id, **lists)

    def instances() -> Counter[str]:
        found: Counter[str] = Counter()
        for row in counts(connection, [(dag_id, run_id)], names):
            found[row.task_id] += row.instances
        return found

    before = instances()
    change("record_expansion", nodes=nodes)
    change("drop_placeholders", tasks=tasks)
    change("skip_placeholders", tasks=tasks)
    removed = change("remove_surplus", tasks=tasks)
    restored = change("restore_returning", tasks=tasks)
    inserted = change("insert_missing", tasks=tasks)
    after = instances()
    grown = tuple(name for name in names if before[name] != after[name])
    return Expanded(grown, inserted, removed, restored)


def groups_around(nodes: Mapping[str, Node], node: Node | None) -> Iterator[Node]:
    """The nearest first."""
    while node is not None and (node := nodes.get(node.parent_id)) is not None:
        yield node


def around_ids(nodes: Mapping[str, Node], node: Node) -> set[str]:
    return {group.node_id for group in groups_around(nodes, node)}


def size_of(nodes: Mapping[str, Node], name: str) -> int | None:
    """Instances in all: the lengths of all that is mapped from the outermost group to here; None = not known yet."""
    size = 1
    for node in (nodes[name], *groups_around(nodes, nodes[name])):
        if node.is_mapped:
            if node.length is None:
                return None
            size *= node.length
    return size
