-- name: selection/claim
-- version: 1
-- purpose: Mark selected task instances queued, each under its claim token, if under the locks they still fit.
-- result: rows, in the order of the claims
-- param claims: json; [[dag_id, run_id, task_id, map_index, pool, claim_token, pool_locked, task_locked], ...] as
--   selected, in order, the dag run being locked; the last two: is this holder locked too?
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
-- limits: as selection/select_executable, except the executors' slots and max_tis, which nobody else uses. What needs
--   a pool or a task that has a limit and is not locked (it had none a moment ago) is passed over.
-- server: 15
-- origin: hand-written: UPDATE ... RETURNING, which MySQL lacks

WITH
claim AS (
    SELECT
        j.place,
        j.ids ->> 0 AS dag_id,
        j.ids ->> 1 AS run_id,
        j.ids ->> 2 AS task_id,
        CAST(j.ids ->> 3 AS integer) AS map_index,
        j.ids ->> 4 AS pool,
        CAST(j.ids ->> 5 AS uuid) AS claim_token,
        CAST(j.ids ->> 6 AS boolean) AS pool_locked,
        CAST(j.ids ->> 7 AS boolean) AS task_locked
    FROM jsonb_array_elements(CAST(:claims AS jsonb)) WITH ORDINALITY AS j (ids, place)
),
locked AS MATERIALIZED (
    SELECT
        c.place, c.claim_token, c.pool_locked, c.task_locked, ti.*,
        row_number() OVER (PARTITION BY ti.dag_id, ti.run_id ORDER BY c.place) AS nth_of_run
    FROM claim AS c
    CROSS JOIN LATERAL (
        SELECT t.ctid AS ti_at, t.dag_id, t.run_id, t.task_id, t.pool, t.pool_slots
        FROM task_instance AS t
        WHERE
            t.dag_id = c.dag_id AND t.run_id = c.run_id AND t.task_id = c.task_id AND t.map_index = c.map_index
            -- An expression, so that it is looked up by its key, not among all that is scheduled; so below.
            AND t.state || '' = 'scheduled' AND t.pool = c.pool
        FOR UPDATE OF t SKIP LOCKED
    ) AS ti
),
-- Its limits; of its run what is free, counted once for all rows of the run. A row's address (ctid) stands for its
-- name: it is short to sort by.
candidate AS MATERIALIZED (
    SELECT
        l.*,
        first_value(of_run.run_at) OVER in_run AS run_at,
        first_value(of_run.run_free) OVER in_run AS run_free,
        of_task.*
    FROM locked AS l
    LEFT JOIN LATERAL (
        SELECT
            r.ctid AS run_at,
            d.max_active_tasks - (
                SELECT count(*)
                FROM task_instance AS a
                WHERE
                    a.state IN ('queued', 'running', 'deferred') AND a.state <> 'deferred'
                    AND a.dag_id = r.dag_id AND a.run_id = r.run_id
            ) AS run_free
        FROM dag_run AS r
        JOIN dag AS d ON d.dag_id = r.dag_id
        WHERE
            l.nth_of_run = 1 AND r.dag_id = l.dag_id AND r.run_id = l.run_id
            AND r.state = 'running' AND NOT d.is_paused
        OFFSET 0
    ) AS of_run ON true
    LEFT JOIN LATERAL (
        SELECT t.ctid AS task_at, t.max_active_tis_per_dag, t.max_active_tis_per_dagrun
        FROM task AS t
        WHERE
            t.dag_id = l.dag_id AND t.task_id = l.task_id
            AND (t.max_active_tis_per_dag IS NOT NULL OR t.max_active_tis_per_dagrun IS NOT NULL)
        OFFSET 0
    ) AS of_task ON true
    WINDOW in_run AS (PARTITION BY l.dag_id, l.run_id ORDER BY l.place ROWS UNBOUNDED PRECEDING)
),
pool_room AS MATERIALIZED (
    SELECT c.pool, room.pool_free
    FROM (SELECT DISTINCT pool FROM candidate) AS c
    CROSS JOIN LATERAL (
        SELECT
            CASE WHEN p.slots <> -1 THEN p.slots - (
                SELECT coalesce(sum(a.pool_slots), 0)
                FROM task_instance AS a
                WHERE
                    a.state IN ('queued', 'running', 'deferred') AND (a.state <> 'deferred' OR p.include_deferred)
                    AND a.pool = p.pool
            ) END AS pool_free
        FROM slot_pool AS p
        WHERE p.pool = c.pool
        OFFSET 0
    ) AS room
),
-- If all up to and with this one start, does it fit? least() leaves NULL out: no limit.
checked AS MATERIALIZED (
    SELECT
        c.*,
        least(
            p.pool_free - sum(c.pool_slots) OVER by_pool,
            c.run_free - count(*) OVER by_run,
            c.max_active_tis_per_dag - (
                SELECT count(*)
                FROM task_instance AS a
                WHERE
                    a.state IN ('queued', 'running', 'deferred') AND c.max_active_tis_per_dag IS NOT NULL
                    AND a.dag_id = c.dag_id AND a.task_id = c.task_id
            ) - count(*) OVER by_task,
            c.max_active_tis_per_dagrun - (
                SELECT count(*)
                FROM task_instance AS a
                WHERE
                    a.state IN ('queued', 'running', 'deferred') AND c.max_active_tis_per_dagrun IS NOT NULL
                    -- An expression, so that it is looked up by run, not by task.
                    AND a.dag_id = c.dag_id AND a.run_id = c.run_id AND coalesce(a.task_id, '') = c.task_id
            ) - count(*) OVER by_task_in_run
        ) >= 0 AS fits
    FROM candidate AS c
    JOIN pool_room AS p ON p.pool = c.pool
    WHERE
        c.run_at IS NOT NULL
        AND (p.pool_free IS NULL OR c.pool_locked) AND (c.max_active_tis_per_dag IS NULL OR c.task_locked)
    WINDOW
        by_pool AS (PARTITION BY c.pool ORDER BY c.place ROWS UNBOUNDED PRECEDING),
        by_run AS (PARTITION BY c.run_at ORDER BY c.place ROWS UNBOUNDED PRECEDING),
        by_task AS (PARTITION BY c.task_at ORDER BY c.place ROWS UNBOUNDED PRECEDING),
        by_task_in_run AS (PARTITION BY c.run_at, c.task_at ORDER BY c.place ROWS UNBOUNDED PRECEDING)
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
        c.fits AND ti.ctid = c.ti_at
        AND ti.state || '' = 'scheduled'
    RETURNING
        c.place, ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.pool, ti.pool_slots, ti.priority_weight,
        ti.executor, ti.try_number, ti.queued_dttm, ti.queued_by, ti.claim_token
)
SELECT
    dag_id, run_id, task_id, map_index, pool, pool_slots, priority_weight,
    executor, try_number, queued_dttm, queued_by, claim_token
FROM claimed
ORDER BY place
