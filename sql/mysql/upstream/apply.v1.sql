-- name: upstream/apply
-- version: 1
-- purpose: Lock task instances that were decided and are still what they were; the states that they are to have.
-- result: rows, by key
-- param decisions: json; [{"dag_id", "run_id", "task_id", "map_index", "state", "decision"}, ...] as upstream/decide
--   returned them, without those that wait
-- column dag_id: text
-- column run_id: text
-- column task_id: text
-- column map_index: integer
-- column state: text; scheduled, skipped, upstream_failed or removed: what upstream/mark_decided is to write
-- locks: the task instances, FOR UPDATE SKIP LOCKED: one that somebody else is changing is left to them
-- isolation: READ COMMITTED. upstream/mark_decided follows in the same transaction
-- limits: none; one that is in another state than it was decided from, or whose dag run is not running, is left alone
-- server: 8.4
-- origin: hand-written: there is no UPDATE ... RETURNING here, so upstream/mark_decided does the writing

SELECT
    ti.dag_id, ti.run_id, ti.task_id, ti.map_index,
    IF(j.decision = 'run', 'scheduled', j.decision) AS state
FROM JSON_TABLE(:decisions, '$[*]' COLUMNS (
    dag_id VARCHAR(250) PATH '$.dag_id',
    run_id VARCHAR(250) PATH '$.run_id',
    task_id VARCHAR(250) PATH '$.task_id',
    map_index INT PATH '$.map_index',
    state VARCHAR(20) PATH '$.state',
    decision VARCHAR(20) PATH '$.decision'
)) AS j
STRAIGHT_JOIN task_instance AS ti
    ON ti.dag_id = j.dag_id COLLATE utf8mb4_0900_bin
    AND ti.run_id = j.run_id COLLATE utf8mb4_0900_bin
    AND ti.task_id = j.task_id COLLATE utf8mb4_0900_bin
    AND ti.map_index = j.map_index
STRAIGHT_JOIN dag_run AS r ON r.dag_id = ti.dag_id AND r.run_id = ti.run_id
WHERE
    ti.state <=> j.state COLLATE utf8mb4_0900_bin AND r.state = 'running'
    AND (ti.state IS NULL OR ti.state IN ('up_for_retry', 'up_for_reschedule'))
ORDER BY ti.dag_id, ti.run_id, ti.task_id, ti.map_index
FOR UPDATE OF ti SKIP LOCKED
