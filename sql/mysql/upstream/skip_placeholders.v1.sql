-- name: upstream/skip_placeholders
-- version: 1
-- purpose: Skip the placeholders of tasks that are expanded over nothing.
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
SET ti.state = 'skipped', ti.not_before = NULL
WHERE
    ti.map_index = -1 AND j.size = 0
    AND (ti.state IS NULL OR ti.state IN ('scheduled', 'up_for_retry', 'up_for_reschedule'))
