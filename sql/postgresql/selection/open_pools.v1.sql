-- name: selection/open_pools
-- version: 1
-- purpose: Number of pools that have room.
-- result: row
-- column open_pools: integer; pools with at least one free slot, unlimited ones included
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: slots of queued and running task instances; of deferred ones too if the pool has include_deferred
-- server: 15
-- origin: generated: selectq.generate.pools.open_pools, by 'selectq sql generate'; edit that, not this file

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
    COUNT(*) AS open_pools
FROM slot_pool
LEFT OUTER JOIN used_by_pool
    ON used_by_pool.pool = slot_pool.pool
WHERE
    NULLIF(slot_pool.slots, -1) IS NULL
    OR slot_pool.slots > COALESCE(used_by_pool.used, 0)
