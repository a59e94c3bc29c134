-- name: selection/claim
-- version: 1
-- purpose: Lock selected task instances and return those that under the locks still fit, ready to be marked queued.
-- result: rows, in the order of the claims
-- param claims: json; [{"dag_id", "run_id", "task_id", "map_index", "pool", "claim_token", "pool_locked",
--   "task_locked"}, ...] as selected, in order, the dag run being locked; the last two: is this holder locked too?
-- param queued_by: text; name of the scheduler
-- column dag_id: text
-- column run_id: text
-- column task_id: text
-- column map_index: integer
-- column pool: text
-- column pool_slots: integer
-- column priority_weight: integer
-- column executor: text; NULL = the default executor
-- column try_number: integer
-- column queued_dttm: timestamp; now, by the database's clock
-- column queued_by: text
-- column claim_token: uuid
-- locks: the task instances, FOR UPDATE SKIP LOCKED: one that somebody else is changing is left to them
-- isolation: READ COMMITTED, after selection/lock_holders in the same transaction: it must see what was committed
--   before those locks were granted. selection/mark_queued follows.
-- limits: as selection/select_executable, except the executors' slots and max_tis, which nobody else uses. What needs
--   a pool or a task that has a limit and is not locked (it had none a moment ago) is passed over.
-- server: 8.4
-- origin: hand-written: there is no UPDATE ... RETURNING here, so selection/mark_queued does the writing

WITH claim AS (
    SELECT
        j.place,
        j.dag_id COLLATE utf8mb4_0900_bin AS dag_id,
        j.run_id COLLATE utf8mb4_0900_bin AS run_id,
        j.task_id COLLATE utf8mb4_0900_bin AS task_id,
        j.map_index,
        j.pool COLLATE utf8mb4_0900_bin AS pool,
        j.claim_token,
        j.pool_locked,
        j.task_locked
    FROM JSON_TABLE(:claims, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        dag_id VARCHAR(250) PATH '$.dag_id',
        run_id VARCHAR(250) PATH '$.run_id',
        task_id VARCHAR(250) PATH '$.task_id',
        map_index INT PATH '$.map_index',
        pool VARCHAR(256) PATH '$.pool',
        claim_token CHAR(32) PATH '$.claim_token',
        pool_locked BOOLEAN PATH '$.pool_locked',
        task_locked BOOLEAN PATH '$.task_locked'
    )) AS j
),
candidate AS (
    SELECT
        ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.pool, ti.pool_slots, ti.priority_weight, ti.executor,
        ti.try_number, c.claim_token, c.place,
        p.slots, d.max_active_tasks, t.max_active_tis_per_dag, t.max_active_tis_per_dagrun
    FROM claim AS c
    STRAIGHT_JOIN task_instance AS ti
        ON ti.dag_id = c.dag_id AND ti.run_id = c.run_id AND ti.task_id = c.task_id AND ti.map_index = c.map_index
    STRAIGHT_JOIN slot_pool AS p ON p.pool = ti.pool
    STRAIGHT_JOIN dag_run AS r ON r.dag_id = ti.dag_id AND r.run_id = ti.run_id
    STRAIGHT_JOIN dag AS d ON d.dag_id = ti.dag_id
    LEFT JOIN task AS t ON t.dag_id = ti.dag_id AND t.task_id = ti.task_id
    WHERE
        ti.state = 'scheduled' AND STRCMP(ti.pool, c.pool) = 0 AND r.state = 'running' AND NOT d.is_paused
        AND (p.slots = -1 OR c.pool_locked) AND (t.max_active_tis_per_dag IS NULL OR c.task_locked)
    FOR UPDATE OF ti SKIP LOCKED
),
active AS (
    SELECT dag_id, run_id, task_id, state, pool, pool_slots
    FROM task_instance
    WHERE state IN ('queued', 'running', 'deferred')
),
-- MySQL can't key a temporary table by ids this long, so each row carries a short hash to be looked up by;
-- STRCMP then compares the ids themselves.
used_by_pool AS (
    SELECT CRC32(a.pool) AS hash, a.pool, SUM(a.pool_slots) AS used
    FROM active AS a
    JOIN slot_pool AS p ON p.pool = a.pool
    WHERE a.state <> 'deferred' OR p.include_deferred
    GROUP BY a.pool
),
used_by_run AS (
    SELECT CRC32(CONCAT_WS('/', dag_id, run_id)) AS hash, dag_id, run_id, COUNT(*) AS used
    FROM active
    WHERE state <> 'deferred'
    GROUP BY dag_id, run_id
),
used_by_task AS (
    SELECT CRC32(CONCAT_WS('/', dag_id, task_id)) AS hash, dag_id, task_id, COUNT(*) AS used
    FROM active
    GROUP BY dag_id, task_id
),
used_by_task_in_run AS (
    SELECT CRC32(CONCAT_WS('/', dag_id, run_id, task_id)) AS hash, dag_id, run_id, task_id, COUNT(*) AS used
    FROM active
    GROUP BY dag_id, run_id, task_id
),
-- What would be left of each limit if all up to and with this one start; NULL = no limit.
checked AS (
    SELECT /*+ NO_BNL() */
        c.*,
        IF(c.slots = -1, NULL, c.slots - COALESCE(up.used, 0) - SUM(c.pool_slots) OVER by_pool) AS pool_left,
        c.max_active_tasks - COALESCE(ur.used, 0) - COUNT(*) OVER by_run AS run_left,
        c.max_active_tis_per_dag - COALESCE(ut.used, 0) - COUNT(*) OVER by_task AS task_left,
        c.max_active_tis_per_dagrun - COALESCE(utr.used, 0) - COUNT(*) OVER by_task_in_run AS task_in_run_left
    FROM candidate AS c
    LEFT JOIN used_by_pool AS up ON up.hash = CRC32(c.pool) AND STRCMP(up.pool, c.pool) = 0
    LEFT JOIN used_by_run AS ur
        ON ur.hash = CRC32(CONCAT_WS('/', c.dag_id, c.run_id))
        AND STRCMP(ur.dag_id, c.dag_id) = 0 AND STRCMP(ur.run_id, c.run_id) = 0
    LEFT JOIN used_by_task AS ut
        ON ut.hash = CRC32(CONCAT_WS('/', c.dag_id, c.task_id))
        AND STRCMP(ut.dag_id, c.dag_id) = 0 AND STRCMP(ut.task_id, c.task_id) = 0
    LEFT JOIN used_by_task_in_run AS utr
        ON utr.hash = CRC32(CONCAT_WS('/', c.dag_id, c.run_id, c.task_id))
        AND STRCMP(utr.dag_id, c.dag_id) = 0 AND STRCMP(utr.run_id, c.run_id) = 0
        AND STRCMP(utr.task_id, c.task_id) = 0
    WINDOW
        by_pool AS (PARTITION BY c.pool ORDER BY c.place ROWS UNBOUNDED PRECEDING),
        by_run AS (PARTITION BY c.dag_id, c.run_id ORDER BY c.place ROWS UNBOUNDED PRECEDING),
        by_task AS (PARTITION BY c.dag_id, c.task_id ORDER BY c.place ROWS UNBOUNDED PRECEDING),
        by_task_in_run AS (PARTITION BY c.dag_id, c.run_id, c.task_id ORDER BY c.place ROWS UNBOUNDED PRECEDING)
)
SELECT
    dag_id, run_id, task_id, map_index, pool, pool_slots, priority_weight,
    executor, try_number, UTC_TIMESTAMP(6) AS queued_dttm, :queued_by AS queued_by, claim_token
FROM checked
WHERE
    COALESCE(pool_left, 0) >= 0 AND run_left >= 0
    AND COALESCE(task_left, 0) >= 0 AND COALESCE(task_in_run_left, 0) >= 0
ORDER BY place
