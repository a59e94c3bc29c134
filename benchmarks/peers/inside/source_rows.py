"""The rows of selectq's tables, numbered in its total order, for the tables of another library in the same database."""

from __future__ import annotations

HOLDERS = {"pools": "ti.pool", "one-at-a-time": "CONCAT(ti.dag_id, '/', ti.task_id)"}
"""What carries the limit, by the part of the work."""


def source_rows(source: str, part: str) -> str:
    """``number``, ``key``, ``holder``, ``priority_weight``, ``held`` (it runs already) and ``place`` in its holder."""
    return f"""
        SELECT
            ROW_NUMBER() OVER (
                ORDER BY ti.priority_weight DESC, ti.logical_date, ti.dag_id, ti.run_id, ti.task_id, ti.map_index
            ) AS number,
            ROW_NUMBER() OVER (PARTITION BY ti.state, {HOLDERS[part]}) - 1 AS place,
            CONCAT_WS('|', ti.dag_id, ti.run_id, ti.task_id, ti.map_index) AS key,
            {HOLDERS[part]} AS holder, ti.priority_weight, ti.state <> 'scheduled' AS held
        FROM {source}.task_instance AS ti
        WHERE ti.state IN ('scheduled', 'queued', 'running')
    """


def as_keys(texts: list[str]) -> list[list[str | int]]:
    found = []
    for text in texts:
        dag_id, run_id, task_id, map_index = text.split("|")
        found.append([dag_id, run_id, task_id, int(map_index)])
    return found
