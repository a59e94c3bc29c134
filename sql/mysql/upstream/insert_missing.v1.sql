-- name: upstream/insert_missing
-- version: 1
-- purpose: Make the instances that a mapped task lacks, or one skipped placeholder if it is expanded over nothing; none
--   beside a placeholder that is left.
-- result: count
-- param dag_id: text
-- param run_id: text
-- param tasks: json; [{"task_id", "size"}, ...]: how many instances each is to have
-- locks: the task instances
-- isolation: READ COMMITTED, after upstream/lock_run in the same transaction: two that expand the same run take turns
-- limits: none
-- server: 8.4
-- origin: hand-written: rows from a list of tasks, which each engine reads in its own way

INSERT INTO task_instance (
    dag_id, run_id, task_id, map_index, state, logical_date, pool, pool_slots, priority_weight, executor
)
SELECT
    t.dag_id, r.run_id, t.task_id, IF(j.size = 0, -1, p.place - 1), IF(j.size = 0, 'skipped', NULL),
    r.logical_date, t.pool, t.pool_slots, t.priority_weight, t.executor
FROM JSON_TABLE(:tasks, '$[*]' COLUMNS (
    task_id VARCHAR(250) PATH '$.task_id',
    size INT PATH '$.size'
)) AS j
-- As many rows as the task is to have instances.
STRAIGHT_JOIN JSON_TABLE(
    CONCAT('[0', REPEAT(',0', GREATEST(j.size, 1) - 1), ']'), '$[*]' COLUMNS (place FOR ORDINALITY)
) AS p
STRAIGHT_JOIN task AS t ON t.dag_id = :dag_id AND t.task_id = j.task_id COLLATE utf8mb4_0900_bin
STRAIGHT_JOIN dag_run AS r ON r.dag_id = t.dag_id AND r.run_id = :run_id
LEFT JOIN task_instance AS there
    ON there.dag_id = t.dag_id AND there.run_id = r.run_id AND there.task_id = t.task_id
    AND there.map_index = IF(j.size = 0, -1, p.place - 1)
LEFT JOIN task_instance AS placeholder
    ON placeholder.dag_id = t.dag_id AND placeholder.run_id = r.run_id AND placeholder.task_id = t.task_id
    AND placeholder.map_index = -1
WHERE there.task_id IS NULL AND placeholder.task_id IS NULL
