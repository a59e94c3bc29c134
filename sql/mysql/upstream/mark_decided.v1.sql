-- name: upstream/mark_decided
-- version: 1
-- purpose: Write what upstream/apply returned: state, one try more for what is scheduled, no time to wait for.
-- result: count
-- param decided: json; [{"dag_id", "run_id", "task_id", "map_index", "state"}, ...] as upstream/apply returned them
-- locks: the task instances, which upstream/apply has locked already
-- isolation: READ COMMITTED, in the transaction of upstream/apply
-- limits: none; the state is tested again, so that nothing but what is not scheduled yet is overwritten
-- server: 8.4
-- engine: mysql only: PostgreSQL writes and returns in one statement, upstream/apply
-- origin: hand-written: a multi-table UPDATE

UPDATE JSON_TABLE(:decided, '$[*]' COLUMNS (
    dag_id VARCHAR(250) PATH '$.dag_id',
    run_id VARCHAR(250) PATH '$.run_id',
    task_id VARCHAR(250) PATH '$.task_id',
    map_index INT PATH '$.map_index',
    state VARCHAR(20) PATH '$.state'
)) AS j
STRAIGHT_JOIN task_instance AS ti
    ON ti.dag_id = j.dag_id COLLATE utf8mb4_0900_bin
    AND ti.run_id = j.run_id COLLATE utf8mb4_0900_bin
    AND ti.task_id = j.task_id COLLATE utf8mb4_0900_bin
    AND ti.map_index = j.map_index
SET
    ti.try_number = ti.try_number
        + IF(j.state = 'scheduled' AND NOT ti.state <=> 'up_for_reschedule', 1, 0),
    ti.state = j.state,
    ti.not_before = NULL
WHERE ti.state IS NULL OR ti.state IN ('up_for_retry', 'up_for_reschedule')
