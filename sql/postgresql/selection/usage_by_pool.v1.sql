-- name: selection/usage_by_pool
-- version: 1
-- purpose: Slots of every pool: used, capacity, free.
-- result: rows
-- column pool: text
-- column used: integer; slots
-- column capacity: integer; slots; NULL = unlimited
-- column free: integer; slots; below 0 where the capacity was lowered; NULL = unlimited
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: slots of queued and running task instances; of deferred ones too if the pool has include_deferred
-- server: 15
-- origin: generated: selectq.generate.usage.usage_by_pool, by 'selectq sql generate'; edit that, not this file

WITH active AS (
    SELECT
        task_instance.dag_id,
        task_instance.run_id,
        task_instance.task_id,
        task_instance.state,
        task_instance.pool,
        task_instance.pool_slots
    FROM task_instance
    WHERE
        task_instance.state IN ('queued', 'running', 'deferred')
        AND task_instance.pool >= ''
),
used_by_pool AS (
    SELECT
        active.pool,
        SUM(active.pool_slots) AS used
    FROM active
    JOIN slot_pool
        ON slot_pool.pool = active.pool
    WHERE
        active.state <> 'deferred' OR slot_pool.include_deferred
    GROUP BY
        active.pool
)
SELECT
    slot_pool.pool,
    COALESCE(used_by_pool.used, 0) AS used,
    NULLIF(slot_pool.slots, -1) AS capacity,
    NULLIF(slot_pool.slots, -1) - COALESCE(used_by_pool.used, 0) AS free
FROM slot_pool
LEFT OUTER JOIN used_by_pool
    ON used_by_pool.pool = slot_pool.pool
ORDER BY
    slot_pool.pool
