-- name: upstream/restore_returning
-- version: 1
-- purpose: Let removed instances within the size of their task be decided again.
-- result: count
-- param dag_id: text
-- param run_id: text
-- param tasks: json; [{"task_id", "size"}, ...]: how many instances each is to have
-- locks: the task instances
-- isolation: READ COMMITTED, after upstream/lock_run in the same transaction: two that expand the same run take turns
-- limits: none
-- server: 8.4
-- origin: hand-written: rows from a list of tasks, which each engine reads in its own way

UPDATE JSON_TABLE(:tasks, '$[*]' COLUMNS (
    task_id VARCHAR(250) PATH '$.task_id',
    size INT PATH '$.size'
)) AS j
STRAIGHT_JOIN task_instance AS ti
    ON ti.dag_id = :dag_id AND ti.run_id = :run_id AND ti.task_id = j.task_id COLLATE utf8mb4_0900_bin
SET ti.state = NULL
WHERE ti.map_index >= 0 AND ti.map_index < j.size AND ti.state = 'removed'
