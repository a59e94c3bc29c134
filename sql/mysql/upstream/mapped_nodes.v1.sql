-- name: upstream/mapped_nodes
-- version: 1
-- purpose: Groups and mapped tasks of a dag, with their lengths in a run.
-- result: rows
-- param dag_id: text
-- param run_id: text
-- column node_id: text
-- column is_task: boolean; a task, not a group
-- column is_mapped: boolean; it is expanded itself
-- column parent_id: text; the group around it (of a task: the nearest mapped one), or empty
-- column length: integer; NULL = not known yet
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: none
-- server: 8.4
-- origin: hand-written: shared words, but read together with its neighbours

SELECT
    t.task_id AS node_id, TRUE AS is_task, t.is_mapped, COALESCE(t.mapped_group, '') AS parent_id, e.length
FROM task AS t
LEFT JOIN task_expansion AS e ON e.dag_id = t.dag_id AND e.run_id = :run_id AND e.node_id = t.task_id
WHERE t.dag_id = :dag_id AND t.sized_by IS NOT NULL
UNION ALL
SELECT g.group_id, FALSE, g.is_mapped, COALESCE(g.parent_id, ''), e.length
FROM task_group AS g
LEFT JOIN task_expansion AS e ON e.dag_id = g.dag_id AND e.run_id = :run_id AND e.node_id = g.group_id
WHERE g.dag_id = :dag_id
