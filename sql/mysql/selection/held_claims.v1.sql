-- name: selection/held_claims
-- version: 1
-- purpose: Which claims stand in the database: what a commit that was cut off has left.
-- result: rows
-- param claimed: json; [[dag_id, run_id, task_id, map_index, claim_token], ...]
-- column claim_token: uuid; of a task instance that is still under this claim
-- locks: the task instances, FOR SHARE: the server may still be at work on the commit, whose row locks are waited for
-- isolation: READ COMMITTED: each row is seen as it is once its lock is granted
-- limits: none
-- server: 8.4
-- origin: hand-written: PostgreSQL reads JSON in another way

SELECT ti.claim_token
FROM JSON_TABLE(:claimed, '$[*]' COLUMNS (
    dag_id VARCHAR(250) PATH '$[0]',
    run_id VARCHAR(250) PATH '$[1]',
    task_id VARCHAR(250) PATH '$[2]',
    map_index INT PATH '$[3]',
    claim_token CHAR(32) PATH '$[4]'
)) AS c
JOIN task_instance AS ti
    ON ti.dag_id = c.dag_id COLLATE utf8mb4_0900_bin
    AND ti.run_id = c.run_id COLLATE utf8mb4_0900_bin
    AND ti.task_id = c.task_id COLLATE utf8mb4_0900_bin
    AND ti.map_index = c.map_index
WHERE ti.claim_token = c.claim_token COLLATE utf8mb4_0900_bin
FOR SHARE OF ti
