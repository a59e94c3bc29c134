-- name: selection/lock_free_holders
-- version: 1
-- purpose: As selection/lock_holders, but leave alone what somebody else has locked, and wait for nobody.
-- result: rows
-- param holders: json; {"pools": [pool, ...], "runs": [[dag_id, run_id], ...], "tasks": [[dag_id, task_id], ...]} of
--   the claims: each once, tasks only as far as they have max_active_tis_per_dag
-- column holder_kind: text; pool, dag_run or task
-- column locked: json; which: [pool, ...], [[dag_id, run_id], ...] or [[dag_id, task_id], ...]; NULL = none
-- locks: FOR NO KEY UPDATE SKIP LOCKED on the pools, then the dag runs, then the tasks of the claims, each in the
--   order of its key. Pools without a limit and tasks without max_active_tis_per_dag are left alone.
-- isolation: READ COMMITTED, in a transaction of its own together with selection/claim
-- limits: selection/claim passes over what needs a holder that was not locked
-- server: 15
-- origin: hand-written: FOR NO KEY UPDATE lets others insert task instances of a locked dag run; MySQL has no such lock

WITH
-- Each is looked up by its key, in order; so the tables are never read as a whole, however small they seem.
locked_pool AS MATERIALIZED (
    SELECT locked.pool
    FROM (
        SELECT pool COLLATE "C" AS pool
        FROM jsonb_array_elements_text(CAST(:holders AS jsonb) -> 'pools') AS j (pool)
        ORDER BY pool
    ) AS c
    CROSS JOIN LATERAL (
        SELECT p.pool
        FROM slot_pool AS p
        WHERE p.pool = c.pool AND p.slots <> -1
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS locked
),
locked_run AS MATERIALIZED (
    SELECT locked.dag_id, locked.run_id
    FROM (
        SELECT (j.ids ->> 0) COLLATE "C" AS dag_id, (j.ids ->> 1) COLLATE "C" AS run_id
        FROM jsonb_array_elements(CAST(:holders AS jsonb) -> 'runs') AS j (ids)
        ORDER BY dag_id, run_id
    ) AS c
    CROSS JOIN LATERAL (
        SELECT r.dag_id, r.run_id
        FROM dag_run AS r
        WHERE r.dag_id = c.dag_id AND r.run_id = c.run_id
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS locked
),
locked_task AS MATERIALIZED (
    SELECT locked.dag_id, locked.task_id
    FROM (
        SELECT (j.ids ->> 0) COLLATE "C" AS dag_id, (j.ids ->> 1) COLLATE "C" AS task_id
        FROM jsonb_array_elements(CAST(:holders AS jsonb) -> 'tasks') AS j (ids)
        ORDER BY dag_id, task_id
    ) AS c
    CROSS JOIN LATERAL (
        SELECT t.dag_id, t.task_id
        FROM task AS t
        WHERE t.dag_id = c.dag_id AND t.task_id = c.task_id AND t.max_active_tis_per_dag IS NOT NULL
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS locked
)
SELECT 'pool' AS holder_kind, jsonb_agg(pool) AS locked FROM locked_pool
UNION ALL
SELECT 'dag_run', jsonb_agg(jsonb_build_array(dag_id, run_id)) FROM locked_run
UNION ALL
SELECT 'task', jsonb_agg(jsonb_build_array(dag_id, task_id)) FROM locked_task
