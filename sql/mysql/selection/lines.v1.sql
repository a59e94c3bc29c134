-- name: selection/lines
-- version: 1
-- purpose: The lines that a selection reads: pools with room, and how much.
-- result: rows
-- column pool: text
-- column pool_free: integer; free slots, at least 1; NULL = unlimited
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: slots of queued and running task instances; of deferred ones too if the pool has include_deferred
-- server: 8.4
-- engine: mysql only: selection/select_executable of PostgreSQL finds the pools with room itself
-- origin: hand-written: the use of each pool is looked up by index, state by state; no plan can flip to a join of all

WITH pool_use AS (
    SELECT
        p.pool,
        NULLIF(p.slots, -1) AS slots,
        IF(p.slots = -1, 0, (
            SELECT /*+ INDEX(ti ix_task_instance_active) */ COALESCE(SUM(ti.pool_slots), 0)
            FROM task_instance AS ti
            WHERE ti.state = 'queued' AND ti.pool = p.pool
        ) + (
            SELECT /*+ INDEX(ti ix_task_instance_active) */ COALESCE(SUM(ti.pool_slots), 0)
            FROM task_instance AS ti
            WHERE ti.state = 'running' AND ti.pool = p.pool
        )) + IF(p.slots = -1 OR NOT p.include_deferred, 0, (
            SELECT /*+ INDEX(ti ix_task_instance_active) */ COALESCE(SUM(ti.pool_slots), 0)
            FROM task_instance AS ti
            WHERE ti.state = 'deferred' AND ti.pool = p.pool
        )) AS used
    FROM slot_pool AS p
    WHERE p.slots <> 0
)
SELECT pool, CAST(slots - used AS SIGNED) AS pool_free
FROM pool_use
WHERE slots IS NULL OR slots > used
