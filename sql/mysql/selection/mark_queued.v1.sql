-- name: selection/mark_queued
-- version: 1
-- purpose: Write what selection/claim returned: state, time, scheduler and claim token.
-- result: count
-- param claimed: json; [[dag_id, run_id, task_id, map_index, claim_token], ...] as selection/claim returned them
-- param queued_dttm: timestamp; as selection/claim returned it
-- param queued_by: text; name of the scheduler
-- locks: the task instances, which selection/claim has locked already
-- isolation: READ COMMITTED, in the transaction of selection/claim
-- limits: none checked here; the state is tested again, so that nothing else than a scheduled one is overwritten
-- server: 8.4
-- engine: mysql only: PostgreSQL writes and returns in one statement, selection/claim
-- origin: hand-written: a multi-table UPDATE

-- Statistics that were taken while the table was empty would make it read all of it for each row.
UPDATE /*+ NO_BNL() INDEX(ti PRIMARY) */ JSON_TABLE(:claimed, '$[*]' COLUMNS (
    dag_id VARCHAR(250) PATH '$[0]',
    run_id VARCHAR(250) PATH '$[1]',
    task_id VARCHAR(250) PATH '$[2]',
    map_index INT PATH '$[3]',
    claim_token CHAR(32) PATH '$[4]'
)) AS c
STRAIGHT_JOIN task_instance AS ti
    ON ti.dag_id = c.dag_id COLLATE utf8mb4_0900_bin
    AND ti.run_id = c.run_id COLLATE utf8mb4_0900_bin
    AND ti.task_id = c.task_id COLLATE utf8mb4_0900_bin
    AND ti.map_index = c.map_index
SET
    ti.state = 'queued',
    ti.queued_dttm = :queued_dttm,
    ti.queued_by = :queued_by,
    ti.claim_token = c.claim_token
WHERE ti.state = 'scheduled'
