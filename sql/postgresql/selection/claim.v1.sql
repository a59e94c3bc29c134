-- name: selection/claim
-- version: 1
-- purpose: Mark selected task instances queued, each under its claim token, if under the locks they still fit.
-- result: rows, in the order of the claims
-- param claims: json; [{"dag_id", "run_id", "task_id", "map_index", "pool", "claim_token"}, ...] as selected, in order
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
-- column queued_dttm: timestamp; start of the transaction, by the database's clock
-- column queued_by: text
-- column claim_token: uuid
-- locks: the task instances, FOR UPDATE SKIP LOCKED: one that somebody else is changing is left to them
-- isolation: READ COMMITTED, after selection/lock_holders in the same transaction: it must see what was committed
--   before those locks were granted
-- limits: as selection/select_executable, except the executors' slots and max_tis, which nobody else uses
-- server: 15
-- origin: hand-written: UPDATE ... RETURNING, which MySQL lacks

WITH claim AS (
    SELECT j.dag_id, j.run_id, j.task_id, j.map_index, j.pool, j.claim_token, j.place
    FROM ROWS FROM (
        jsonb_to_recordset(CAST(:claims AS jsonb)) AS (
            dag_id text, run_id text, task_id text, map_index integer, pool text, claim_token uuid
        )
    ) WITH ORDINALITY AS j (dag_id, run_id, task_id, map_index, pool, claim_token, place)
),
candidate AS MATERIALIZED (
    SELECT
        ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.pool, ti.pool_slots, c.claim_token, c.place,
        p.slots, d.max_active_tasks, t.max_active_tis_per_dag, t.max_active_tis_per_dagrun
    FROM claim AS c
    JOIN task_instance AS ti
        ON ti.dag_id = c.dag_id AND ti.run_id = c.run_id AND ti.task_id = c.task_id AND ti.map_index = c.map_index
    JOIN slot_pool AS p ON p.pool = ti.pool
    JOIN dag_run AS r ON r.dag_id = ti.dag_id AND r.run_id = ti.run_id
    JOIN dag AS d ON d.dag_id = ti.dag_id
    LEFT JOIN task AS t ON t.dag_id = ti.dag_id AND t.task_id = ti.task_id
    WHERE ti.state = 'scheduled' AND ti.pool = c.pool AND r.state = 'running' AND NOT d.is_paused
    ORDER BY ti.dag_id, ti.run_id, ti.task_id, ti.map_index
    FOR UPDATE OF ti SKIP LOCKED
),
active AS MATERIALIZED (
    SELECT dag_id, run_id, task_id, state, pool, pool_slots
    FROM task_instance
    WHERE state IN ('queued', 'running', 'deferred')
),
used_by_pool AS MATERIALIZED (
    SELECT a.pool, sum(a.pool_slots) AS used
    FROM active AS a
    JOIN slot_pool AS p ON p.pool = a.pool
    WHERE a.state <> 'deferred' OR p.include_deferred
    GROUP BY a.pool
),
used_by_run AS MATERIALIZED (
    SELECT dag_id, run_id, count(*) AS used
    FROM active
    WHERE state <> 'deferred'
    GROUP BY dag_id, run_id
),
used_by_task AS MATERIALIZED (
    SELECT dag_id, task_id, count(*) AS used
    FROM active
    GROUP BY dag_id, task_id
),
used_by_task_in_run AS MATERIALIZED (
    SELECT dag_id, run_id, task_id, count(*) AS used
    FROM active
    GROUP BY dag_id, run_id, task_id
),
-- If all up to and with this one start, does it fit? least() leaves NULL out: no limit.
checked AS (
    SELECT
        c.*,
        least(
            CASE WHEN c.slots <> -1 THEN c.slots - coalesce(up.used, 0) - sum(c.pool_slots) OVER by_pool END,
            c.max_active_tasks - coalesce(ur.used, 0) - count(*) OVER by_run,
            c.max_active_tis_per_dag - coalesce(ut.used, 0) - count(*) OVER by_task,
            c.max_active_tis_per_dagrun - coalesce(utr.used, 0) - count(*) OVER by_task_in_run
        ) >= 0 AS fits
    FROM candidate AS c
    LEFT JOIN used_by_pool AS up ON up.pool = c.pool
    LEFT JOIN used_by_run AS ur ON ur.dag_id = c.dag_id AND ur.run_id = c.run_id
    LEFT JOIN used_by_task AS ut ON ut.dag_id = c.dag_id AND ut.task_id = c.task_id
    LEFT JOIN used_by_task_in_run AS utr
        ON utr.dag_id = c.dag_id AND utr.run_id = c.run_id AND utr.task_id = c.task_id
    WINDOW
        by_pool AS (PARTITION BY c.pool ORDER BY c.place ROWS UNBOUNDED PRECEDING),
        by_run AS (PARTITION BY c.dag_id, c.run_id ORDER BY c.place ROWS UNBOUNDED PRECEDING),
        by_task AS (PARTITION BY c.dag_id, c.task_id ORDER BY c.place ROWS UNBOUNDED PRECEDING),
        by_task_in_run AS (PARTITION BY c.dag_id, c.run_id, c.task_id ORDER BY c.place ROWS UNBOUNDED PRECEDING)
),
claimed AS (
    UPDATE task_instance AS ti
    SET
        state = 'queued',
        queued_dttm = current_timestamp,
        queued_by = CAST(:queued_by AS text),
        claim_token = c.claim_token
    FROM checked AS c
    WHERE
        c.fits
        AND ti.dag_id = c.dag_id AND ti.run_id = c.run_id AND ti.task_id = c.task_id AND ti.map_index = c.map_index
        AND ti.state = 'scheduled'
    RETURNING
        c.place, ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.pool, ti.pool_slots, ti.priority_weight,
        ti.executor, ti.try_number, ti.queued_dttm, ti.queued_by, ti.claim_token
)
SELECT
    dag_id, run_id, task_id, map_index, pool, pool_slots, priority_weight,
    executor, try_number, queued_dttm, queued_by, claim_token
FROM claimed
ORDER BY place
