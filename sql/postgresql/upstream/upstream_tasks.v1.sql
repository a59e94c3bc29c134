-- name: upstream/upstream_tasks
-- version: 1
-- purpose: What a task has to look at before it may be scheduled, task by task.
-- result: rows, by relation and task_id
-- param dag_id: text
-- param task_id: text
-- column task_id: text
-- column relation: text; direct, setup (a relevant one that is no direct upstream), scope (of a teardown) or expands
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: none
-- server: 15
-- origin: hand-written: one join, the same on both engines

SELECT u.task_id, r.relation
FROM task AS t
JOIN task_upstream AS r ON r.dag_id = t.dag_id AND r.task_no = t.task_no
JOIN task AS u ON u.dag_id = r.dag_id AND u.task_no = r.upstream_no
WHERE t.dag_id = :dag_id AND t.task_id = :task_id
ORDER BY r.relation, u.task_id
