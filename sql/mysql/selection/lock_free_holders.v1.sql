-- name: selection/lock_free_holders
-- version: 1
-- purpose: As selection/lock_holders, but leave alone what somebody else has locked, and wait for nobody.
-- result: rows
-- param claims: json; [{"dag_id", "run_id", "task_id", "map_index", "pool", "claim_token"}, ...]
-- column holder_kind: text; pool, dag_run or task
-- column locked: json; which: [pool, ...], [[dag_id, run_id], ...] or [[dag_id, task_id], ...]; NULL = none
-- locks: exclusive, with SKIP LOCKED, on the pools, then the dag runs, then the tasks of the claims, each in the order
--   of its key. Pools without a limit and tasks without max_active_tis_per_dag are left alone.
-- isolation: READ COMMITTED, in a transaction of its own together with selection/claim
-- limits: selection/claim passes over what needs a holder that was not locked
-- server: 8.4
-- origin: hand-written: rows are looked up, and so locked, in the order of a sorted list; LIMIT keeps that order alive.
--   Whatever is read by FOR UPDATE stays locked, so what has no limit is left out before, and the hints keep MySQL from
--   reading small tables as a whole.

WITH claim AS (
    SELECT
        j.dag_id COLLATE utf8mb4_0900_bin AS dag_id,
        j.run_id COLLATE utf8mb4_0900_bin AS run_id,
        j.task_id COLLATE utf8mb4_0900_bin AS task_id,
        j.pool COLLATE utf8mb4_0900_bin AS pool
    FROM JSON_TABLE(:claims, '$[*]' COLUMNS (
        dag_id VARCHAR(250) PATH '$.dag_id',
        run_id VARCHAR(250) PATH '$.run_id',
        task_id VARCHAR(250) PATH '$.task_id',
        pool VARCHAR(256) PATH '$.pool'
    )) AS j
),
locked_pool AS (
    SELECT /*+ NO_BNL() INDEX(p PRIMARY) */ p.pool
    FROM (
        SELECT DISTINCT claim.pool
        FROM claim
        JOIN slot_pool AS limited ON limited.pool = claim.pool
        WHERE limited.slots <> -1
        ORDER BY claim.pool
        LIMIT 1000000
    ) AS c
    STRAIGHT_JOIN slot_pool AS p ON p.pool = c.pool
    WHERE p.slots <> -1
    FOR UPDATE OF p SKIP LOCKED
),
locked_run AS (
    SELECT /*+ NO_BNL() INDEX(r PRIMARY) */ r.dag_id, r.run_id
    FROM (SELECT DISTINCT dag_id, run_id FROM claim ORDER BY dag_id, run_id LIMIT 1000000) AS c
    STRAIGHT_JOIN dag_run AS r ON r.dag_id = c.dag_id AND r.run_id = c.run_id
    FOR UPDATE OF r SKIP LOCKED
),
locked_task AS (
    SELECT /*+ NO_BNL() INDEX(t PRIMARY) */ t.dag_id, t.task_id
    FROM (
        SELECT DISTINCT claim.dag_id, claim.task_id
        FROM claim
        JOIN task AS limited ON limited.dag_id = claim.dag_id AND limited.task_id = claim.task_id
        WHERE limited.max_active_tis_per_dag IS NOT NULL
        ORDER BY claim.dag_id, claim.task_id
        LIMIT 1000000
    ) AS c
    STRAIGHT_JOIN task AS t ON t.dag_id = c.dag_id AND t.task_id = c.task_id
    WHERE t.max_active_tis_per_dag IS NOT NULL
    FOR UPDATE OF t SKIP LOCKED
)
SELECT 'pool' AS holder_kind, JSON_ARRAYAGG(pool) AS locked FROM locked_pool
UNION ALL
SELECT 'dag_run', JSON_ARRAYAGG(JSON_ARRAY(dag_id, run_id)) FROM locked_run
UNION ALL
SELECT 'task', JSON_ARRAYAGG(JSON_ARRAY(dag_id, task_id)) FROM locked_task
