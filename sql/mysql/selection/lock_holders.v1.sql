-- name: selection/lock_holders
-- version: 1
-- purpose: Lock the holders whose limits a claim is about to use, before it counts what is used.
-- result: rows
-- param holders: json; {"pools": [pool, ...], "runs": [[dag_id, run_id], ...], "tasks": [[dag_id, task_id], ...]} of
--   the claims: each once, tasks only as far as they have max_active_tis_per_dag
-- column holder_kind: text; pool, dag_run or task
-- column locked: json; which: [pool, ...], [[dag_id, run_id], ...] or [[dag_id, task_id], ...]; NULL = none
-- locks: exclusive on the pools that have a limit, then the dag runs, then the tasks, each in the order of its key
-- isolation: READ COMMITTED, in a transaction of its own together with selection/claim
-- limits: whoever changes what a holder uses takes its lock first, so that no limit is passed
-- server: 8.4
-- origin: hand-written: rows are looked up, and so locked, in the order of a sorted list; LIMIT keeps that order alive.
--   What a locking read looks at stays locked, so pools without a limit are left out before.

WITH
locked_pool AS (
    SELECT /*+ NO_BNL() INDEX(p PRIMARY) */ p.pool
    FROM (
        SELECT limited.pool
        FROM JSON_TABLE(:holders, '$.pools[*]' COLUMNS (pool VARCHAR(256) PATH '$')) AS j
        JOIN slot_pool AS limited ON limited.pool = j.pool COLLATE utf8mb4_0900_bin
        WHERE limited.slots <> -1
        ORDER BY limited.pool
        LIMIT 1000000
    ) AS wanted
    STRAIGHT_JOIN slot_pool AS p ON p.pool = wanted.pool
    WHERE p.slots <> -1
    FOR UPDATE OF p
),
locked_run AS (
    SELECT /*+ NO_BNL() INDEX(r PRIMARY) */ r.dag_id, r.run_id
    FROM (
        SELECT dag_id COLLATE utf8mb4_0900_bin AS dag_id, run_id COLLATE utf8mb4_0900_bin AS run_id
        FROM JSON_TABLE(:holders, '$.runs[*]' COLUMNS (
            dag_id VARCHAR(250) PATH '$[0]',
            run_id VARCHAR(250) PATH '$[1]'
        )) AS j
        ORDER BY dag_id, run_id
        LIMIT 1000000
    ) AS wanted
    STRAIGHT_JOIN dag_run AS r ON r.dag_id = wanted.dag_id AND r.run_id = wanted.run_id
    FOR UPDATE OF r
),
locked_task AS (
    SELECT /*+ NO_BNL() INDEX(t PRIMARY) */ t.dag_id, t.task_id
    FROM (
        SELECT dag_id COLLATE utf8mb4_0900_bin AS dag_id, task_id COLLATE utf8mb4_0900_bin AS task_id
        FROM JSON_TABLE(:holders, '$.tasks[*]' COLUMNS (
            dag_id VARCHAR(250) PATH '$[0]',
            task_id VARCHAR(250) PATH '$[1]'
        )) AS j
        ORDER BY dag_id, task_id
        LIMIT 1000000
    ) AS wanted
    STRAIGHT_JOIN task AS t ON t.dag_id = wanted.dag_id AND t.task_id = wanted.task_id
    FOR UPDATE OF t
)
SELECT 'pool' AS holder_kind, JSON_ARRAYAGG(pool) AS locked FROM locked_pool
UNION ALL
SELECT 'dag_run', JSON_ARRAYAGG(JSON_ARRAY(dag_id, run_id)) FROM locked_run
UNION ALL
SELECT 'task', JSON_ARRAYAGG(JSON_ARRAY(dag_id, task_id)) FROM locked_task
