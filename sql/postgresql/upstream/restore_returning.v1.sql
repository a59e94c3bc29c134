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
-- server: 15
-- origin: hand-written: rows from a list of tasks, which each engine reads in its own way

UPDATE task_instance AS ti
SET state = NULL
FROM jsonb_to_recordset(CAST(:tasks AS jsonb)) AS j (task_id text, size integer)
WHERE
    ti.dag_id = :dag_id AND ti.run_id = :run_id AND ti.task_id = j.task_id
    AND ti.map_index >= 0 AND ti.map_index < j.size AND ti.state = 'removed'
