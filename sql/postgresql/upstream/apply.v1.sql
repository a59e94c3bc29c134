-- name: upstream/apply
-- version: 1
-- purpose: Put task instances into the states that were decided, if they are still what they were.
-- result: rows, by key
-- param decisions: json; [{"dag_id", "run_id", "task_id", "map_index", "state", "decision"}, ...] as upstream/decide
--   returned them, without those that wait
-- column dag_id: text
-- column run_id: text
-- column task_id: text
-- column map_index: integer
-- column state: text; scheduled, skipped, upstream_failed or removed
-- locks: the task instances, FOR UPDATE SKIP LOCKED: one that somebody else is changing is left to them
-- isolation: READ COMMITTED
-- limits: none; one that is in another state than it was decided from, or whose dag run is not running, is left alone
-- server: 15
-- origin: hand-written: UPDATE ... RETURNING, which MySQL lacks

WITH decision AS (
    SELECT j.dag_id, j.run_id, j.task_id, j.map_index, j.state, j.decision
    FROM jsonb_to_recordset(CAST(:decisions AS jsonb)) AS j (
        dag_id text, run_id text, task_id text, map_index integer, state text, decision text
    )
),
running_run AS MATERIALIZED (
    SELECT r.dag_id, r.run_id
    FROM (SELECT DISTINCT dag_id, run_id FROM decision) AS d
    CROSS JOIN LATERAL (
        SELECT dag_id, run_id FROM dag_run
        WHERE dag_run.dag_id = d.dag_id AND dag_run.run_id = d.run_id AND dag_run.state = 'running'
        OFFSET 0
    ) AS r
),
unchanged AS MATERIALIZED (
    SELECT ti.dag_id, ti.run_id, ti.task_id, ti.map_index, d.decision
    FROM decision AS d
    JOIN task_instance AS ti
        ON ti.dag_id = d.dag_id AND ti.run_id = d.run_id AND ti.task_id = d.task_id AND ti.map_index = d.map_index
    JOIN running_run AS r ON r.dag_id = ti.dag_id AND r.run_id = ti.run_id
    WHERE ti.state IS NOT DISTINCT FROM d.state
    ORDER BY ti.dag_id, ti.run_id, ti.task_id, ti.map_index
    FOR UPDATE OF ti SKIP LOCKED
),
changed AS (
    UPDATE task_instance AS ti
    SET
        state = CASE u.decision WHEN 'run' THEN 'scheduled' ELSE u.decision END,
        try_number = ti.try_number
            + CASE WHEN u.decision = 'run' AND ti.state IS DISTINCT FROM 'up_for_reschedule' THEN 1 ELSE 0 END,
        not_before = NULL
    FROM unchanged AS u
    WHERE
        ti.dag_id = u.dag_id AND ti.run_id = u.run_id AND ti.task_id = u.task_id AND ti.map_index = u.map_index
        AND (ti.state IS NULL OR ti.state IN ('up_for_retry', 'up_for_reschedule'))
    RETURNING ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.state
)
SELECT dag_id, run_id, task_id, map_index, state
FROM changed
ORDER BY dag_id, run_id, task_id, map_index
