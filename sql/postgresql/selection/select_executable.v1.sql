-- name: selection/select_executable
-- version: 1
-- purpose: The candidates that may start now: exact greedy in the total order (policy "strict").
-- result: rows, in order
-- param max_tis: integer; most task instances to admit, at least 1
-- param executor_slots: json; {"executor": free slots}, "" being the default executor; one not named is unlimited
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
-- column more: boolean; candidates are left that this call did not decide (never on PostgreSQL)
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: a pool takes pool_slots of queued and running, and of deferred if include_deferred; max_active_tasks counts
--   queued and running per dag run; the task limits count queued, running and deferred.
-- server: 15
-- origin: hand-written: the walk is a recursive query with windows, which MySQL does not allow

WITH RECURSIVE
pass AS (
    SELECT CAST(:max_tis AS integer) AS max_tis
),
executor_limit AS (
    SELECT key AS executor, CAST(value AS bigint) AS free
    FROM jsonb_each_text(CAST(:executor_slots AS jsonb))
),

-- 1. Pools with room.
open_pool AS MATERIALIZED (
    SELECT p.pool, CASE WHEN p.slots <> -1 THEN p.slots - active.used END AS pool_free
    FROM slot_pool AS p
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(a.pool_slots), 0) AS used
        FROM task_instance AS a
        WHERE
            a.state IN ('queued', 'running', 'deferred') AND (a.state <> 'deferred' OR p.include_deferred)
            AND a.pool = p.pool AND p.slots > 0
    ) AS active
    WHERE p.slots = -1 OR p.slots > active.used
),

-- 2. The candidates of a pool stand in lanes, one for each width and executor: rows of a lane need the same of both.
head_of_lane AS (
    SELECT p.pool, p.pool_free, head.*
    FROM open_pool AS p
    CROSS JOIN LATERAL (
        SELECT
            pool_slots, coalesce(executor, '') AS executor, -1 - priority_weight AS priority_rank,
            coalesce(logical_date, 'infinity') AS date_rank, dag_id, run_id, task_id, map_index
        FROM task_instance
        WHERE state = 'scheduled' AND pool = p.pool
        ORDER BY
            pool, pool_slots, coalesce(executor, ''), -1 - priority_weight, coalesce(logical_date, 'infinity'),
            dag_id, run_id, task_id, map_index
        LIMIT 1
    ) AS head

    UNION ALL

    SELECT l.pool, l.pool_free, head.*
    FROM head_of_lane AS l
    CROSS JOIN LATERAL (
        SELECT
            pool_slots, coalesce(executor, '') AS executor, -1 - priority_weight AS priority_rank,
            coalesce(logical_date, 'infinity') AS date_rank, dag_id, run_id, task_id, map_index
        FROM task_instance
        WHERE
            state = 'scheduled' AND pool = l.pool
            AND (pool_slots, coalesce(executor, '')) > (l.pool_slots, l.executor)
        ORDER BY
            pool, pool_slots, coalesce(executor, ''), -1 - priority_weight, coalesce(logical_date, 'infinity'),
            dag_id, run_id, task_id, map_index
        LIMIT 1
    ) AS head
    WHERE l.pool_free IS NULL OR l.pool_slots <= l.pool_free
),

-- 3. The walk
walk AS (
    SELECT
        0 AS step,
        false AS finished,
        'bookmark' AS kind,
        CAST(h.pool AS text) COLLATE "C" AS pool,
        h.pool_slots,
        CAST(h.executor AS text) COLLATE "C" AS executor,
        CAST(1 + share.rows + 3 * sqrt(share.rows) AS integer) AS page,
        h.priority_rank,
        h.date_rank,
        CAST(h.dag_id AS text) COLLATE "C" AS dag_id,
        CAST(h.run_id AS text) COLLATE "C" AS run_id,
        CAST(h.task_id AS text) COLLATE "C" AS task_id,
        h.map_index - 1 AS map_index,
        h.pool_free,
        e.free AS executor_free,
        CAST(NULL AS tid) AS run_at,
        CAST(NULL AS bigint) AS run_free,
        CAST(NULL AS tid) AS task_at,
        CAST(NULL AS bigint) AS task_free,
        CAST(NULL AS bigint) AS task_in_run_free
    FROM head_of_lane AS h
    LEFT JOIN executor_limit AS e ON e.executor = h.executor
    CROSS JOIN pass
    CROSS JOIN LATERAL (
        SELECT greatest(1, pass.max_tis / (SELECT count(*) FROM head_of_lane)) AS rows
    ) AS share
    WHERE (h.pool_free IS NULL OR h.pool_slots <= h.pool_free) AND (e.free IS NULL OR e.free > 0)

    UNION ALL

    SELECT *
    FROM (
        WITH RECURSIVE
        so_far AS MATERIALIZED (
            SELECT
                kept.*,
                kind = 'bookmark' AND waiting <= max_tis - started AS turn
            FROM (
                SELECT
                    w.*,
                    pass.max_tis,
                    count(*) FILTER (WHERE kind = 'started') OVER () AS started,
                    count(*) FILTER (WHERE kind <> 'started') OVER (
                        ORDER BY priority_rank, date_rank, dag_id, run_id, task_id, map_index ROWS UNBOUNDED PRECEDING
                    ) AS waiting,
                    pool_free - sum(pool_slots) FILTER (WHERE kind = 'started') OVER (PARTITION BY pool) AS pool_left,
                    executor_free - count(*) FILTER (WHERE kind = 'started') OVER (PARTITION BY executor) AS executor_left
                FROM walk AS w
                CROSS JOIN pass
                WHERE NOT finished
            ) AS kept
            WHERE kind <> 'bookmark' OR (coalesce(pool_left >= pool_slots, true) AND coalesce(executor_left >= 1, true))
        ),

        page AS MATERIALIZED (
            SELECT
                mark.step, mark.pool, mark.pool_slots, mark.executor, mark.page, mark.pool_free, mark.executor_free,
                found.*
            FROM so_far AS mark
            CROSS JOIN LATERAL (
                WITH RECURSIVE hop AS (
                    SELECT
                        0 AS hops,
                        mark.priority_rank, mark.date_rank, mark.dag_id, mark.run_id, mark.task_id, mark.map_index,
                        mark.run_at, mark.run_free, mark.task_at, mark.task_free, mark.task_in_run_free,
                        false AS is_kept,
                        true AS is_last,
                        CAST(0 AS bigint) AS kept,
                        mark.page AS size,
                        mark.run_id AS next_run_id,
                        mark.task_id AS next_task_id,
                        mark.map_index AS next_map_index

                    UNION ALL

                    SELECT
                        hops + 1,
                        priority_rank, date_rank, dag_id, run_id, task_id, map_index,
                        run_at, run_free, task_at, task_free, task_in_run_free,
                        is_kept,
                        nth = size,
                        kept,
                        CASE WHEN 2 * (kept - kept_before) >= size THEN greatest(4, page - kept) ELSE greatest(1, size / 4) END::integer,
                        CASE WHEN run_is_through THEN run_id || chr(1) ELSE run_id END,
                        CASE WHEN run_is_through THEN '' WHEN task_is_through THEN task_id || chr(1) ELSE task_id END,
                        CASE WHEN run_is_through OR task_is_through THEN -2 ELSE map_index END
                    FROM (
                        SELECT
                            counted.*,
                            hop.kept AS kept_before,
                            hop.kept + count(*) FILTER (WHERE counted.is_kept) OVER (ORDER BY nth ROWS UNBOUNDED PRECEDING) AS kept,
                            hop.hops, hop.size, mark.page
                        FROM hop
                        CROSS JOIN LATERAL (
                            SELECT
                                numbered.*,
                                coalesce(nth_of_run >= run_free, true) AS run_is_through,
                                nth_of_task >= least(run_free, task_free, task_in_run_free) AS task_is_through,
                                nth_of_task <= least(run_free, task_free, task_in_run_free)
                                    AND nth_of_run <= run_free - CASE WHEN task_at IS NULL THEN 0 ELSE 1 END AS is_kept
                            FROM (
                                SELECT
                                    line.*,
                                    holder.*,
                                    row_number() OVER in_line AS nth,
                                    row_number() OVER (
                                        PARTITION BY priority_rank, date_rank, dag_id, run_id, task_id ORDER BY map_index
                                    ) AS nth_of_task,
                                    count(*) FILTER (WHERE task_at IS NULL) OVER (
                                        PARTITION BY priority_rank, date_rank, dag_id, run_id
                                        ORDER BY task_id, map_index
                                        ROWS UNBOUNDED PRECEDING
                                    ) AS nth_of_run
                                FROM (
                                    SELECT
                                        -1 - priority_weight AS priority_rank,
                                        coalesce(logical_date, 'infinity') AS date_rank,
                                        dag_id, run_id, task_id, map_index
                                    FROM task_instance
                                    WHERE
                                        state = 'scheduled'
                                        AND pool = mark.pool AND pool_slots = mark.pool_slots
                                        AND coalesce(executor, '') = mark.executor
                                        AND (
                                            -1 - priority_weight, coalesce(logical_date, 'infinity'),
                                            dag_id, run_id, task_id, map_index
                                        ) > (
                                            hop.priority_rank, hop.date_rank,
                                            hop.dag_id, hop.next_run_id, hop.next_task_id, hop.next_map_index
                                        )
                                    ORDER BY
                                        -1 - priority_weight, coalesce(logical_date, 'infinity'),
                                        dag_id, run_id, task_id, map_index
                                    LIMIT hop.size
                                ) AS line
                                LEFT JOIN LATERAL (
                                    SELECT
                                        r.ctid AS run_at,
                                        d.max_active_tasks - (
                                            SELECT count(*)
                                            FROM task_instance AS a
                                            WHERE
                                                a.state IN ('queued', 'running', 'deferred') AND a.state <> 'deferred'
                                                AND a.dag_id = r.dag_id AND a.run_id = r.run_id
                                        ) AS run_free,
                                        t.ctid AS task_at,
                                        t.max_active_tis_per_dag - (
                                            SELECT count(*)
                                            FROM task_instance AS a
                                            WHERE
                                                a.state IN ('queued', 'running', 'deferred')
                                                AND t.max_active_tis_per_dag IS NOT NULL
                                                AND a.dag_id = t.dag_id AND a.task_id = t.task_id
                                        ) AS task_free,
                                        t.max_active_tis_per_dagrun - (
                                            SELECT count(*)
                                            FROM task_instance AS a
                                            WHERE
                                                a.state IN ('queued', 'running', 'deferred')
                                                AND t.max_active_tis_per_dagrun IS NOT NULL
                                                AND a.dag_id = t.dag_id AND a.run_id = r.run_id AND a.task_id = t.task_id
                                        ) AS task_in_run_free
                                    FROM dag_run AS r
                                    JOIN dag AS d ON d.dag_id = r.dag_id
                                    LEFT JOIN task AS t
                                        ON t.dag_id = r.dag_id AND t.task_id = line.task_id
                                        AND (t.max_active_tis_per_dag IS NOT NULL OR t.max_active_tis_per_dagrun IS NOT NULL)
                                    WHERE
                                        r.dag_id = line.dag_id AND r.run_id = line.run_id
                                        AND r.state = 'running' AND NOT d.is_paused
                                    OFFSET 0
                                ) AS holder ON true
                                WINDOW in_line AS (
                                    ORDER BY priority_rank, date_rank, dag_id, run_id, task_id, map_index
                                    ROWS UNBOUNDED PRECEDING
                                )
                            ) AS numbered
                        ) AS counted
                        WHERE hop.is_last AND hop.kept < mark.page AND hop.hops < mark.page
                    ) AS judged
                )
                SELECT
                    hop.*,
                    hop.hops = max(hop.hops) OVER () AS is_last_hop
                FROM hop
                WHERE hop.hops > 0
            ) AS found
            WHERE mark.kind = 'bookmark' AND mark.turn AND (found.is_kept OR (found.is_last AND found.is_last_hop))
        ),

        line AS MATERIALIZED (
            SELECT
                l.*,
                row_number() OVER (
                    ORDER BY priority_rank, date_rank, dag_id, run_id, task_id, map_index, is_bookmark
                    ROWS UNBOUNDED PRECEDING
                ) AS place,
                count(*) FILTER (WHERE is_bookmark) OVER (
                    ORDER BY priority_rank, date_rank, dag_id, run_id, task_id, map_index, is_bookmark
                    ROWS UNBOUNDED PRECEDING
                ) AS bookmarks
            FROM (
                SELECT
                    kind = 'bookmark' AS is_bookmark, kind = 'started' AS has_started,
                    pool, pool_slots, executor, page,
                    priority_rank, date_rank, dag_id, run_id, task_id, map_index,
                    pool_free, executor_free, run_at, run_free, task_at, task_free, task_in_run_free
                FROM so_far
                WHERE NOT turn
                UNION ALL
                SELECT
                    false, false,
                    pool, pool_slots, executor, page,
                    priority_rank, date_rank, dag_id, run_id, task_id, map_index,
                    pool_free, executor_free, run_at, run_free, task_at, task_free, task_in_run_free
                FROM page
                WHERE is_kept
                UNION ALL
                SELECT
                    true, false,
                    pool, pool_slots, executor, 2 * page,
                    priority_rank, date_rank, dag_id, next_run_id, next_task_id, next_map_index,
                    pool_free, executor_free, NULL, NULL, NULL, NULL, NULL
                FROM page
                WHERE is_last AND is_last_hop
            ) AS l
        )
        ,
        -- Due: candidates before the first bookmark, those that started in earlier steps along with them.
        due AS (
            SELECT
                line.*,
                sum(pool_slots) OVER (PARTITION BY pool) > pool_free AS pool_is_short,
                count(*) OVER (PARTITION BY run_at) > run_free AS run_is_short,
                count(*) OVER (PARTITION BY task_at) > task_free AS task_is_short,
                count(*) OVER (PARTITION BY task_at, run_at) > task_in_run_free AS task_in_run_is_short,
                count(*) OVER (PARTITION BY executor) > executor_free AS executor_is_short
            FROM line
            WHERE bookmarks = 0 AND NOT is_bookmark
              AND place <= (SELECT max_tis + max_tis / 4 + 16 FROM pass)
        ),
        judged AS MATERIALIZED (
            SELECT due.*, coalesce(pool_is_short, false) OR coalesce(run_is_short, false) OR coalesce(task_is_short, false)
              OR coalesce(task_in_run_is_short, false) OR coalesce(executor_is_short, false) AS is_contested
            FROM due
        ),
        round AS (
            SELECT place, has_started AS starts, pool, pool_slots, executor, run_at, task_at,
              pool_free, run_free, task_free, task_in_run_free, executor_free,
              true AS open
            FROM judged WHERE is_contested

            UNION ALL

            SELECT place, starts OR surely_fits, pool, pool_slots, executor, run_at, task_at,
              pool_free, run_free, task_free, task_in_run_free, executor_free, 
              bool_or(NOT (starts OR surely_fits)) OVER ()
            FROM (
              SELECT summed.*,
                least(
                    pool_free - pool_up, run_free - run_up, task_free - task_up,
                    task_in_run_free - task_in_run_up, executor_free - executor_up
                ) >= 0 AS surely_fits,
                least(
                    pool_free - pool_taken - pool_slots, run_free - run_taken - 1,
                    task_free - task_taken - 1, task_in_run_free - task_in_run_taken - 1,
                    executor_free - executor_taken - 1
                ) >= 0 AS may_fit
              FROM (
                SELECT r.*,
                    sum(pool_slots) OVER by_pool AS pool_up,
                    coalesce(sum(pool_slots) FILTER (WHERE starts) OVER by_pool, 0) AS pool_taken,
                    count(*) OVER by_run AS run_up,
                    count(*) FILTER (WHERE starts) OVER by_run AS run_taken,
                    count(*) OVER by_task AS task_up,
                    count(*) FILTER (WHERE starts) OVER by_task AS task_taken,
                    count(*) OVER by_task_in_run AS task_in_run_up,
                    count(*) FILTER (WHERE starts) OVER by_task_in_run AS task_in_run_taken,
                    count(*) OVER by_executor AS executor_up,
                    count(*) FILTER (WHERE starts) OVER by_executor AS executor_taken
                FROM round AS r
                WHERE open
                WINDOW
                    by_pool AS (PARTITION BY pool ORDER BY place ROWS UNBOUNDED PRECEDING),
                    by_run AS (PARTITION BY run_at ORDER BY place ROWS UNBOUNDED PRECEDING),
                    by_task AS (PARTITION BY task_at ORDER BY place ROWS UNBOUNDED PRECEDING),
                    by_task_in_run AS (PARTITION BY run_at, task_at ORDER BY place ROWS UNBOUNDED PRECEDING),
                    by_executor AS (PARTITION BY executor ORDER BY place ROWS UNBOUNDED PRECEDING)
              ) AS summed
            ) AS verdict
            WHERE starts OR may_fit
        ),
        started AS MATERIALIZED (
            SELECT *
            FROM judged
            WHERE NOT is_contested OR place IN (SELECT place FROM round WHERE NOT open)
            ORDER BY place
            LIMIT (SELECT max_tis FROM pass)
        ),
        left_over AS MATERIALIZED (
            SELECT *
            FROM line
            WHERE
                NOT (bookmarks = 0 AND place <= (SELECT max_tis + max_tis / 4 + 16 FROM pass))
                AND (SELECT count(*) FROM started) < (SELECT max_tis FROM pass)
        )
        SELECT
            (SELECT min(step) + 1 FROM so_far),
            NOT EXISTS (SELECT FROM left_over),
            'started',
            pool, pool_slots, executor, page,
            priority_rank, date_rank, dag_id, run_id, task_id, map_index,
            pool_free, executor_free, run_at, run_free, task_at, task_free, task_in_run_free
        FROM started
        UNION ALL
        SELECT
            (SELECT min(step) + 1 FROM so_far),
            false,
            CASE WHEN is_bookmark THEN 'bookmark' ELSE 'waiting' END,
            pool, pool_slots, executor, page,
            priority_rank, date_rank, dag_id, run_id, task_id, map_index,
            pool_free, executor_free, run_at, run_free, task_at, task_free, task_in_run_free
        FROM left_over
    ) AS next_step
)
SELECT
    dag_id,
    run_id,
    task_id,
    map_index,
    nullif(date_rank, 'infinity') AS logical_date,
    -1 - priority_rank AS priority_weight,
    pool,
    pool_slots,
    nullif(executor, '') AS executor,
    -- Free at its place in the walk, before it takes its own.
    CAST(pool_free - sum(pool_slots) OVER by_pool + pool_slots AS bigint) AS pool_free,
    run_free - count(*) OVER by_run + 1 AS run_free,
    task_free - count(*) OVER by_task + 1 AS task_free,
    task_in_run_free - count(*) OVER by_task_in_run + 1 AS task_in_run_free,
    executor_free - count(*) OVER by_executor + 1 AS executor_free,
    false AS more
FROM (
    SELECT
        walk.*,
        row_number() OVER (
            ORDER BY priority_rank, date_rank, dag_id, run_id, task_id, map_index
        ) AS place
    FROM walk
    WHERE finished
) AS started
WINDOW
    by_pool AS (PARTITION BY pool ORDER BY place ROWS UNBOUNDED PRECEDING),
    by_run AS (PARTITION BY run_at ORDER BY place ROWS UNBOUNDED PRECEDING),
    by_task AS (PARTITION BY task_at ORDER BY place ROWS UNBOUNDED PRECEDING),
    by_task_in_run AS (PARTITION BY run_at, task_at ORDER BY place ROWS UNBOUNDED PRECEDING),
    by_executor AS (PARTITION BY executor ORDER BY place ROWS UNBOUNDED PRECEDING)
ORDER BY place
