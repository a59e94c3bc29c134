-- name: selection/held_claims
-- version: 1
-- purpose: Which claims stand in the database: what a commit that was cut off has left.
-- result: rows
-- param claimed: json; [[dag_id, run_id, task_id, map_index, claim_token], ...]
-- column claim_token: uuid; of a task instance that is still under this claim
-- locks: the task instances, FOR SHARE: the server may still be at work on the commit, whose row locks are waited for
-- isolation: READ COMMITTED: each row is seen as it is once its lock is granted
-- limits: none
-- server: 15
-- origin: hand-written: MySQL reads JSON in another way

WITH
-- Locked first, compared afterwards: what a row holds is known for certain only under the lock.
locked AS MATERIALIZED (
    SELECT ti.claim_token, CAST(c.ids ->> 4 AS uuid) AS looked_for
    FROM jsonb_array_elements(CAST(:claimed AS jsonb)) AS c (ids)
    JOIN task_instance AS ti
        ON ti.dag_id = c.ids ->> 0 AND ti.run_id = c.ids ->> 1 AND ti.task_id = c.ids ->> 2
        AND ti.map_index = CAST(c.ids ->> 3 AS integer)
    FOR SHARE OF ti
)
SELECT claim_token
FROM locked
WHERE claim_token = looked_for
