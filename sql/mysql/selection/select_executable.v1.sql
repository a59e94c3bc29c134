-- name: selection/select_executable
-- version: 1
-- purpose: The candidates that may start now: exact greedy in the total order (policy "strict").
-- result: rows, in order
-- param max_tis: integer; most task instances to admit in the pass, at least 1
-- param executor_slots: json; {"executor": free slots}, "" being the default executor; one not named is unlimited
-- param admitted: json; [[dag_id, run_id, task_id, map_index], ...] that earlier calls of this pass returned, [] at
--   first
-- param page: integer; rows to read of each pool's line, at least 1; twice as many in each further call
-- column dag_id: text
-- column run_id: text
-- column task_id: text
-- column map_index: integer
-- column logical_date: timestamp; of the dag run, NULL comes last
-- column priority_weight: integer
-- column pool: text
-- column pool_slots: integer; slots it takes
-- column executor: text; NULL = the default executor
-- column pool_free: integer; slots free at its place in the walk, before it takes its own; NULL = unlimited
-- column run_free: integer; of max_active_tasks, likewise
-- column task_free: integer; of max_active_tis_per_dag, likewise
-- column task_in_run_free: integer; of max_active_tis_per_dagrun, likewise
-- column executor_free: integer; of the executor's slots, likewise
-- column more: boolean; candidates are left that this call did not decide: call again with what it returned
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: a pool takes pool_slots of queued and running, and of deferred if include_deferred; max_active_tasks counts
--   queued and running per dag run; the task limits count queued, running and deferred.
-- server: 8.4
-- origin: hand-written: a recursive query may not use windows here, so five rounds are unrolled and the caller repeats

WITH
admitted AS (
    SELECT
        CRC32(CONCAT_WS('/', ti.dag_id, ti.run_id, ti.task_id, ti.map_index)) AS hash,
        ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.pool, ti.pool_slots, COALESCE(ti.executor, '') AS executor
    FROM JSON_TABLE(:admitted, '$[*]' COLUMNS (
        dag_id VARCHAR(250) PATH '$[0]',
        run_id VARCHAR(250) PATH '$[1]',
        task_id VARCHAR(250) PATH '$[2]',
        map_index INT PATH '$[3]'
    )) AS j
    JOIN task_instance AS ti
        ON ti.dag_id = j.dag_id COLLATE utf8mb4_0900_bin
        AND ti.run_id = j.run_id COLLATE utf8mb4_0900_bin
        AND ti.task_id = j.task_id COLLATE utf8mb4_0900_bin
        AND ti.map_index = j.map_index
),
pass AS (
    SELECT CAST(:max_tis AS SIGNED) - COUNT(*) AS pass_free
    FROM admitted
),

-- 1. What is used now: by active task instances, and by those that an earlier call of this pass admitted.
--    MySQL can't key a temporary table by ids this long, so each row carries a short hash to be looked up by;
--    STRCMP then compares the ids themselves.
active AS (
    SELECT dag_id, run_id, task_id, state, pool, pool_slots
    FROM task_instance
    WHERE state IN ('queued', 'running', 'deferred')
    UNION ALL
    SELECT dag_id, run_id, task_id, 'queued', pool, pool_slots
    FROM admitted
),
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
executor_limit AS (
    SELECT given.executor, given.free - COUNT(a.executor) AS free
    FROM (
        SELECT
            name.executor COLLATE utf8mb4_0900_bin AS executor,
            CAST(JSON_EXTRACT(:executor_slots, CONCAT('$.', JSON_QUOTE(name.executor))) AS SIGNED) AS free
        FROM JSON_TABLE(JSON_KEYS(:executor_slots), '$[*]' COLUMNS (
            executor VARCHAR(250) PATH '$'
        )) AS name
    ) AS given
    LEFT JOIN admitted AS a ON a.executor = given.executor
    GROUP BY given.executor, given.free
),

-- 2. The head of the line of every pool with room, less the candidates whose other holders are full already.
open_pool AS (
    SELECT
        p.pool,
        IF(p.slots = -1, NULL, p.slots - COALESCE(u.used, 0)) AS pool_free,
        LEFT(UNHEX(SHA2(p.pool, 256)), 16) AS scheduled_pool
    FROM slot_pool AS p
    LEFT JOIN used_by_pool AS u ON u.hash = CRC32(p.pool) AND STRCMP(u.pool, p.pool) = 0
    WHERE p.slots = -1 OR p.slots > COALESCE(u.used, 0)
),
head_of_line AS (
    SELECT p.pool, p.pool_free, line.*
    FROM open_pool AS p
    JOIN LATERAL (
        -- The hints hold the one good plan whatever the statistics: the index first, in its order, then look-ups.
        SELECT /*+ JOIN_FIXED_ORDER() NO_BNL() NO_MERGE(a) INDEX(ti ix_task_instance_selection) */
            ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.undated, ti.logical_date, ti.priority_weight,
            ti.pool_slots, COALESCE(ti.executor, '') AS executor,
            d.max_active_tasks - COALESCE(ur.used, 0) AS run_free,
            t.max_active_tis_per_dag - COALESCE(ut.used, 0) AS task_free,
            t.max_active_tis_per_dagrun - COALESCE(utr.used, 0) AS task_in_run_free,
            e.free AS executor_free
        FROM task_instance AS ti 
        JOIN dag_run AS r ON r.dag_id = ti.dag_id AND r.run_id = ti.run_id
        JOIN dag AS d ON d.dag_id = ti.dag_id
        LEFT JOIN task AS t ON t.dag_id = ti.dag_id AND t.task_id = ti.task_id
        LEFT JOIN used_by_run AS ur
            ON ur.hash = CRC32(CONCAT_WS('/', ti.dag_id, ti.run_id))
            AND STRCMP(ur.dag_id, ti.dag_id) = 0 AND STRCMP(ur.run_id, ti.run_id) = 0
        LEFT JOIN used_by_task AS ut
            ON ut.hash = CRC32(CONCAT_WS('/', ti.dag_id, ti.task_id))
            AND STRCMP(ut.dag_id, ti.dag_id) = 0 AND STRCMP(ut.task_id, ti.task_id) = 0
        LEFT JOIN used_by_task_in_run AS utr
            ON utr.hash = CRC32(CONCAT_WS('/', ti.dag_id, ti.run_id, ti.task_id))
            AND STRCMP(utr.dag_id, ti.dag_id) = 0 AND STRCMP(utr.run_id, ti.run_id) = 0
            AND STRCMP(utr.task_id, ti.task_id) = 0
        LEFT JOIN admitted AS a
            ON a.hash = CRC32(CONCAT_WS('/', ti.dag_id, ti.run_id, ti.task_id, ti.map_index))
            AND STRCMP(a.dag_id, ti.dag_id) = 0 AND STRCMP(a.run_id, ti.run_id) = 0
            AND STRCMP(a.task_id, ti.task_id) = 0 AND a.map_index = ti.map_index
        LEFT JOIN executor_limit AS e ON STRCMP(e.executor, COALESCE(ti.executor, '')) = 0
        WHERE
            ti.scheduled_pool = p.scheduled_pool
            AND r.state = 'running' AND NOT d.is_paused
            AND (p.pool_free IS NULL OR ti.pool_slots <= p.pool_free)
            AND COALESCE(ur.used, 0) < d.max_active_tasks
            AND (t.max_active_tis_per_dag IS NULL OR COALESCE(ut.used, 0) < t.max_active_tis_per_dag)
            AND (t.max_active_tis_per_dagrun IS NULL OR COALESCE(utr.used, 0) < t.max_active_tis_per_dagrun)
            AND (e.free IS NULL OR e.free > 0)
            AND a.hash IS NULL
        -- The whole index prefix, constants included: else MySQL sorts every row of the pool.
        ORDER BY
            ti.scheduled_pool, ti.priority_weight DESC, ti.undated, ti.logical_date,
            ti.dag_id, ti.run_id, ti.task_id, ti.map_index
        LIMIT :page
    ) AS line
),
in_order AS (
    SELECT
        head_of_line.*,
        ROW_NUMBER() OVER (
            ORDER BY priority_weight DESC, undated, logical_date, dag_id, run_id, task_id, map_index
        ) AS place,
        ROW_NUMBER() OVER (
            PARTITION BY pool
            ORDER BY priority_weight DESC, undated, logical_date, dag_id, run_id, task_id, map_index
        ) AS place_in_pool,
        COUNT(*) OVER () AS rows_read
    FROM head_of_line
),

-- 3. What a candidate needs of each of its holders, the pass being one of them. A holder goes by the place of its
--    first candidate: a short number, unlike its name. Far more than a pass can take is left to the next call.
candidate AS (
    SELECT
        in_order.*,
        MIN(place) OVER (PARTITION BY pool) AS pool_no,
        MIN(place) OVER (PARTITION BY dag_id, run_id) AS run_no,
        MIN(place) OVER (PARTITION BY dag_id, task_id) AS task_no,
        MIN(place) OVER (PARTITION BY dag_id, run_id, task_id) AS task_in_run_no,
        MIN(place) OVER (PARTITION BY executor) AS executor_no
    FROM in_order
    WHERE place <= CAST(:max_tis AS SIGNED) + 128
),
need AS (
    SELECT
        c.place,
        k.holder_kind,
        CASE k.holder_kind
            WHEN 'pool' THEN c.pool_no
            WHEN 'run' THEN c.run_no
            WHEN 'task' THEN c.task_no
            WHEN 'task in run' THEN c.task_in_run_no
            WHEN 'executor' THEN c.executor_no
            ELSE 1
        END AS holder,
        IF(k.holder_kind = 'pool', c.pool_slots, 1) AS weight,
        CASE k.holder_kind
            WHEN 'pool' THEN c.pool_free
            WHEN 'run' THEN c.run_free
            WHEN 'task' THEN c.task_free
            WHEN 'task in run' THEN c.task_in_run_free
            WHEN 'executor' THEN c.executor_free
            ELSE p.pass_free
        END AS free
    FROM candidate AS c
    CROSS JOIN pass AS p
    CROSS JOIN (
        VALUES ROW('pool'), ROW('run'), ROW('task'), ROW('task in run'), ROW('executor'), ROW('pass')
    ) AS k (holder_kind)
    HAVING free IS NOT NULL
),

-- 4. Rounds. up: what is taken of a holder if every candidate up to and with this one starts, but for those rejected
--    already; taken: by those before it that surely start. It surely starts if up fits all its holders, and surely
--    does not if it does not fit beside what is taken. The rest goes into the next round, of the same text; five settle
--    nearly every pass, and what is still open then is left to the next call.
sums_1 AS (
    SELECT
        need.*, NULL AS starts, 0 AS taken,
        SUM(weight) OVER (PARTITION BY holder_kind, holder ORDER BY place ROWS UNBOUNDED PRECEDING) AS up
    FROM need
),
round_1 AS (
    SELECT
        place, holder_kind, holder, weight, free,
        IF(MAX(up > free) OVER one = 0, TRUE, IF(MAX(taken + weight > free) OVER one, FALSE, NULL)) AS starts
    FROM sums_1
    WINDOW one AS (PARTITION BY place)
),
sums_2 AS (
    SELECT
        round_1.*,
        SUM(IF(starts, weight, 0)) OVER in_line AS taken,
        SUM(weight) OVER in_line AS up
    FROM round_1
    WHERE starts OR starts IS NULL
    WINDOW in_line AS (PARTITION BY holder_kind, holder ORDER BY place ROWS UNBOUNDED PRECEDING)
),
round_2 AS (
    SELECT
        place, holder_kind, holder, weight, free,
        IF(starts OR MAX(up > free) OVER one = 0, TRUE, IF(MAX(taken + weight > free) OVER one, FALSE, NULL)) AS starts
    FROM sums_2
    WINDOW one AS (PARTITION BY place)
),
sums_3 AS (
    SELECT
        round_2.*,
        SUM(IF(starts, weight, 0)) OVER in_line AS taken,
        SUM(weight) OVER in_line AS up
    FROM round_2
    WHERE starts OR starts IS NULL
    WINDOW in_line AS (PARTITION BY holder_kind, holder ORDER BY place ROWS UNBOUNDED PRECEDING)
),
round_3 AS (
    SELECT
        place, holder_kind, holder, weight, free,
        IF(starts OR MAX(up > free) OVER one = 0, TRUE, IF(MAX(taken + weight > free) OVER one, FALSE, NULL)) AS starts
    FROM sums_3
    WINDOW one AS (PARTITION BY place)
),
sums_4 AS (
    SELECT
        round_3.*,
        SUM(IF(starts, weight, 0)) OVER in_line AS taken,
        SUM(weight) OVER in_line AS up
    FROM round_3
    WHERE starts OR starts IS NULL
    WINDOW in_line AS (PARTITION BY holder_kind, holder ORDER BY place ROWS UNBOUNDED PRECEDING)
),
round_4 AS (
    SELECT
        place, holder_kind, holder, weight, free,
        IF(starts OR MAX(up > free) OVER one = 0, TRUE, IF(MAX(taken + weight > free) OVER one, FALSE, NULL)) AS starts
    FROM sums_4
    WINDOW one AS (PARTITION BY place)
),
sums_5 AS (
    SELECT
        round_4.*,
        SUM(IF(starts, weight, 0)) OVER in_line AS taken,
        SUM(weight) OVER in_line AS up
    FROM round_4
    WHERE starts OR starts IS NULL
    WINDOW in_line AS (PARTITION BY holder_kind, holder ORDER BY place ROWS UNBOUNDED PRECEDING)
),
round_5 AS (
    SELECT
        place, holder_kind, holder, weight, free,
        IF(starts OR MAX(up > free) OVER one = 0, TRUE, IF(MAX(taken + weight > free) OVER one, FALSE, NULL)) AS starts
    FROM sums_5
    WINDOW one AS (PARTITION BY place)
),

-- 5. How far this is final: before the first candidate that is still undecided, and up to the end of what was read
--    of a pool that has room left there, for what was not read may come next.
verdict AS (
    SELECT
        c.*,
        COALESCE(r.starts, 0) AS starts,
        r.place IS NOT NULL AND r.starts IS NULL AS undecided,
        SUM(IF(r.starts, c.pool_slots, 0)) OVER (PARTITION BY c.pool_no ORDER BY c.place ROWS UNBOUNDED PRECEDING)
            AS pool_taken,
        SUM(COALESCE(r.starts, 0)) OVER (PARTITION BY c.run_no ORDER BY c.place ROWS UNBOUNDED PRECEDING)
            AS run_taken,
        SUM(COALESCE(r.starts, 0)) OVER (PARTITION BY c.task_no ORDER BY c.place ROWS UNBOUNDED PRECEDING)
            AS task_taken,
        SUM(COALESCE(r.starts, 0)) OVER (PARTITION BY c.task_in_run_no ORDER BY c.place ROWS UNBOUNDED PRECEDING)
            AS task_in_run_taken,
        SUM(COALESCE(r.starts, 0)) OVER (PARTITION BY c.executor_no ORDER BY c.place ROWS UNBOUNDED PRECEDING)
            AS executor_taken
    FROM candidate AS c
    LEFT JOIN round_5 AS r ON r.place = c.place AND r.holder_kind = 'pass'
),
final AS (
    SELECT
        verdict.*,
        MIN(CASE
            WHEN undecided THEN place - 1
            WHEN place_in_pool = :page AND (pool_free IS NULL OR pool_free > pool_taken) THEN place
            WHEN place = CAST(:max_tis AS SIGNED) + 128 AND place < rows_read THEN place
        END) OVER () AS horizon
    FROM verdict
)
SELECT
    dag_id, run_id, task_id, map_index, logical_date, priority_weight, pool, pool_slots,
    NULLIF(executor, '') AS executor,
    pool_free - (pool_taken - pool_slots) AS pool_free,
    run_free - (run_taken - 1) AS run_free,
    task_free - (task_taken - 1) AS task_free,
    task_in_run_free - (task_in_run_taken - 1) AS task_in_run_free,
    executor_free - (executor_taken - 1) AS executor_free,
    horizon IS NOT NULL AS more
FROM final
WHERE starts AND (horizon IS NULL OR place <= horizon)
ORDER BY place
