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
-- server: 15
-- origin: hand-written: rows from a list of tasks, which each engine reads in its own way

INSERT INTO task_instance (
    dag_id, run_id, task_id, map_index, state, logical_date, pool, pool_slots, priority_weight, executor
)
SELECT
    t.dag_id, r.run_id, t.task_id, p.map_index, CASE WHEN j.size = 0 THEN 'skipped' END,
    r.logical_date, t.pool, t.pool_slots, t.priority_weight, t.executor
FROM jsonb_to_recordset(CAST(:tasks AS jsonb)) AS j (task_id text, size integer)
JOIN task AS t ON t.dag_id = :dag_id AND t.task_id = j.task_id
JOIN dag_run AS r ON r.dag_id = t.dag_id AND r.run_id = :run_id
CROSS JOIN LATERAL generate_series(
    CASE WHEN j.size = 0 THEN -1 ELSE 0 END, j.size - 1
) AS p (map_index)
WHERE
    (
        SELECT there.map_index FROM task_instance AS there
        WHERE
            there.dag_id = t.dag_id AND there.run_id = r.run_id AND there.task_id = t.task_id
            AND there.map_index = p.map_index
    ) IS NULL
    AND (
        SELECT placeholder.map_index FROM task_instance AS placeholder
        WHERE
            placeholder.dag_id = t.dag_id AND placeholder.run_id = r.run_id AND placeholder.task_id = t.task_id
            AND placeholder.map_index = -1
    ) IS NULL
