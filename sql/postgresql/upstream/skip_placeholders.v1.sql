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
-- server: 15
-- origin: hand-written: rows from a list of tasks, which each engine reads in its own way

UPDATE task_instance AS ti
SET state = 'skipped', not_before = NULL
FROM jsonb_to_recordset(CAST(:tasks AS jsonb)) AS j (task_id text, size integer)
WHERE
    ti.dag_id = :dag_id AND ti.run_id = :run_id AND ti.task_id = j.task_id
    AND ti.map_index = -1 AND j.size = 0
    AND (ti.state IS NULL OR ti.state IN ('scheduled', 'up_for_retry', 'up_for_reschedule'))
