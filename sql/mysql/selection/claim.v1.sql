-- name: selection/claim
-- version: 1
-- purpose: Lock selected task instances and return those that under the locks still fit, ready to be marked queued.
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

WITH
claim AS (
    SELECT
        place,
        dag_id COLLATE utf8mb4_0900_bin AS dag_id,
        run_id COLLATE utf8mb4_0900_bin AS run_id,
        task_id COLLATE utf8mb4_0900_bin AS task_id,
        map_index,
        pool COLLATE utf8mb4_0900_bin AS pool,
        claim_token,
        pool_locked,
        task_locked
    FROM JSON_TABLE(:claims, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        dag_id VARCHAR(250) PATH '$[0]',
        run_id VARCHAR(250) PATH '$[1]',
        task_id VARCHAR(250) PATH '$[2]',
        map_index INT PATH '$[3]',
        pool VARCHAR(256) PATH '$[4]',
        claim_token CHAR(32) PATH '$[5]',
        pool_locked BOOLEAN PATH '$[6]',
        task_locked BOOLEAN PATH '$[7]'
    )) AS j
),
locked AS (
    -- The hints hold the one good plan whatever the statistics: row by row, each looked up by key.
    SELECT /*+ NO_BNL() INDEX(ti PRIMARY) INDEX(p PRIMARY) INDEX(r PRIMARY) INDEX(d PRIMARY) INDEX(t PRIMARY) */
        c.place, ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.pool, ti.pool_slots, ti.priority_weight,
        ti.executor, ti.try_number, c.claim_token,
        NULLIF(p.slots, -1) AS slots, d.max_active_tasks, t.max_active_tis_per_dag, t.max_active_tis_per_dagrun
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
    -- More than there can be: a LIMIT keeps MySQL from merging this into each place that reads it.
    LIMIT 1000000
    FOR UPDATE OF ti SKIP LOCKED
),

-- What each needs: one row for each limit that it meets. What a holder has free is counted once, at the first row that
-- needs it.
need AS (
    SELECT
        l.place, k.kind,
        IF(k.kind = 'pool', l.pool, l.dag_id) AS name,
        IF(k.kind IN ('run', 'task in run'), l.run_id, '') AS run_id,
        IF(k.kind IN ('task', 'task in run'), l.task_id, '') AS task_id,
        IF(k.kind = 'pool', l.pool_slots, 1) AS weight,
        CASE k.kind
            WHEN 'pool' THEN l.slots
            WHEN 'run' THEN l.max_active_tasks
            WHEN 'task' THEN l.max_active_tis_per_dag
            ELSE l.max_active_tis_per_dagrun
        END AS capacity
    FROM locked AS l
    CROSS JOIN (VALUES ROW('pool'), ROW('run'), ROW('task'), ROW('task in run')) AS k (kind)
    HAVING capacity IS NOT NULL
),
summed AS (
    SELECT need.*, ROW_NUMBER() OVER by_holder AS nth, SUM(weight) OVER by_holder AS up
    FROM need
    WINDOW by_holder AS (PARTITION BY kind, name, run_id, task_id ORDER BY place ROWS UNBOUNDED PRECEDING)
),
counted AS (
    SELECT
        place, up,
        SUM(CASE
            WHEN nth > 1 THEN NULL
            WHEN kind = 'pool' THEN capacity - (
                SELECT /*+ INDEX(ti ix_task_instance_active) */ COALESCE(SUM(ti.pool_slots), 0)
                FROM task_instance AS ti
                WHERE ti.state = 'queued' AND ti.pool = summed.name
            ) - (
                SELECT /*+ INDEX(ti ix_task_instance_active) */ COALESCE(SUM(ti.pool_slots), 0)
                FROM task_instance AS ti
                WHERE ti.state = 'running' AND ti.pool = summed.name
            ) - (
                SELECT /*+ JOIN_ORDER(p, ti) INDEX(ti ix_task_instance_active) */ COALESCE(SUM(ti.pool_slots), 0)
                FROM slot_pool AS p
                JOIN task_instance AS ti ON ti.state = 'deferred' AND ti.pool = summed.name
                WHERE p.pool = summed.name AND p.include_deferred
            )
            WHEN kind = 'run' THEN capacity - (
                SELECT /*+ INDEX(ti ix_task_instance_holders) */ COUNT(*)
                FROM task_instance AS ti
                WHERE ti.active = 1 AND ti.dag_id = summed.name AND ti.run_id = summed.run_id AND NOT ti.deferred
            )
            WHEN kind = 'task' THEN capacity - (
                SELECT /*+ INDEX(ti ix_task_instance_holders) */ COUNT(*)
                FROM task_instance AS ti
                WHERE ti.active = 1 AND ti.dag_id = summed.name AND ti.task_id = summed.task_id
            )
            ELSE capacity - (
                SELECT /*+ INDEX(ti ix_task_instance_holders) */ COUNT(*)
                FROM task_instance AS ti
                WHERE
                    ti.active = 1 AND ti.dag_id = summed.name AND ti.run_id = summed.run_id
                    AND ti.task_id = summed.task_id
            )
        END) OVER by_holder AS free
    FROM summed
    WINDOW by_holder AS (PARTITION BY kind, name, run_id, task_id ORDER BY place ROWS UNBOUNDED PRECEDING)
),
misfit AS (
    SELECT DISTINCT place
    FROM counted
    WHERE up > free
)
SELECT
    l.dag_id, l.run_id, l.task_id, l.map_index, l.pool, l.pool_slots, l.priority_weight,
    l.executor, l.try_number, UTC_TIMESTAMP(6) AS queued_dttm, :queued_by AS queued_by, l.claim_token
FROM locked AS l
LEFT JOIN misfit AS m ON m.place = l.place
WHERE m.place IS NULL
ORDER BY l.place
