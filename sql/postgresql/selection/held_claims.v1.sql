-- name: selection/held_claims
-- version: 1
-- purpose: Which claims stand in the database: what a commit that was cut off has left.
-- result: rows
-- param claims: json; [{"dag_id", "run_id", "task_id", "map_index", "claim_token"}, ...]
-- column claim_token: uuid; of a task instance that is still under this claim
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: none
-- server: 15
-- origin: hand-written: MySQL reads JSON in another way

SELECT ti.claim_token
FROM jsonb_to_recordset(CAST(:claims AS jsonb)) AS c (
    dag_id text, run_id text, task_id text, map_index integer, claim_token uuid
)
JOIN task_instance AS ti
    ON ti.dag_id = c.dag_id AND ti.run_id = c.run_id AND ti.task_id = c.task_id AND ti.map_index = c.map_index
WHERE ti.claim_token = c.claim_token
