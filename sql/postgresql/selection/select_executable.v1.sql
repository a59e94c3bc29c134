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

-- 1. What is used now, by active task instances.
active AS MATERIALIZED (
    SELECT dag_id, run_id, task_id, state, pool, pool_slots
    FROM task_instance
    WHERE state IN ('queued', 'running', 'deferred')
),
used_by_pool AS (
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

-- 2. Pools with room; and the other holders that are full already, whose candidates need not be looked at.
open_pool AS (
    SELECT p.pool, CASE WHEN p.slots <> -1 THEN p.slots - coalesce(u.used, 0) END AS pool_free
    FROM slot_pool AS p
    LEFT JOIN used_by_pool AS u ON u.pool = p.pool
    WHERE p.slots = -1 OR p.slots > coalesce(u.used, 0)
),
full_run AS (
    SELECT u.dag_id, u.run_id
    FROM used_by_run AS u
    JOIN dag AS d ON d.dag_id = u.dag_id
    WHERE u.used >= d.max_active_tasks
),
full_task AS (
    SELECT u.dag_id, u.task_id
    FROM used_by_task AS u
    JOIN task AS t ON t.dag_id = u.dag_id AND t.task_id = u.task_id
    WHERE u.used >= t.max_active_tis_per_dag
),
full_task_in_run AS (
    SELECT u.dag_id, u.run_id, u.task_id
    FROM used_by_task_in_run AS u
    JOIN task AS t ON t.dag_id = u.dag_id AND t.task_id = u.task_id
    WHERE u.used >= t.max_active_tis_per_dagrun
),

-- 3. The walk. It holds the candidates read so far that start or may start, and one bookmark for each pool:
--    "the line of this pool goes on behind here". The first bookmarks stand before everything.
walk AS (
    SELECT
        0 AS round,
        true AS is_bookmark,
        CAST(0 AS bigint) AS rows_read,
        CAST(greatest(16, least(p.pool_free, pass.max_tis, 3 * pass.max_tis / count(*) OVER ())) AS bigint) AS page,
        false AS starts,
        CAST(NULL AS text) COLLATE "C" AS dag_id,
        CAST(NULL AS text) COLLATE "C" AS run_id,
        CAST(NULL AS text) COLLATE "C" AS task_id,
        CAST(NULL AS integer) AS map_index,
        CAST(NULL AS timestamptz) AS logical_date,
        CAST(NULL AS integer) AS priority_weight,
        CAST(p.pool AS text) COLLATE "C" AS pool,
        0 AS pool_slots,
        CAST(NULL AS text) COLLATE "C" AS executor,
        p.pool_free,
        CAST(NULL AS bigint) AS run_free,
        CAST(NULL AS bigint) AS task_free,
        CAST(NULL AS bigint) AS task_in_run_free,
        CAST(NULL AS bigint) AS executor_free
    FROM open_pool AS p
    CROSS JOIN pass

    UNION ALL

    SELECT judged.round + 1, next_row.*
    FROM (
        SELECT
            verdict.*,
            -- What a live bookmark stands for may come before whatever is behind it.
            bool_or(is_bookmark AND may_fit) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) AS behind_bookmark,
            is_bookmark AND may_fit AND pass_up < max_tis AS turn_page
        FROM (
            SELECT
                summed.*,
                -- least() leaves NULL out: no limit.
                least(
                    pool_free - pool_up, run_free - run_up, task_free - task_up,
                    task_in_run_free - task_in_run_up, executor_free - executor_up, max_tis - pass_up
                ) >= 0 AS surely_fits,
                least(
                    pool_free - pool_taken - greatest(pool_slots, 1), run_free - run_taken - 1,
                    task_free - task_taken - 1, task_in_run_free - task_in_run_taken - 1,
                    executor_free - executor_taken - 1, max_tis - pass_taken - 1
                ) >= 0 AS may_fit
            FROM (
                -- up: what is taken of a holder if every candidate up to and with this one starts;
                -- taken: by those before it that surely start.
                SELECT
                    w.*,
                    pass.max_tis,
                    sum(w.pool_slots) OVER by_pool AS pool_up,
                    coalesce(sum(w.pool_slots) FILTER (WHERE w.starts) OVER by_pool, 0) AS pool_taken,
                    count(*) FILTER (WHERE NOT w.is_bookmark) OVER by_run AS run_up,
                    count(*) FILTER (WHERE w.starts) OVER by_run AS run_taken,
                    count(*) FILTER (WHERE NOT w.is_bookmark) OVER by_task AS task_up,
                    count(*) FILTER (WHERE w.starts) OVER by_task AS task_taken,
                    count(*) FILTER (WHERE NOT w.is_bookmark) OVER by_task_in_run AS task_in_run_up,
                    count(*) FILTER (WHERE w.starts) OVER by_task_in_run AS task_in_run_taken,
                    count(*) FILTER (WHERE NOT w.is_bookmark) OVER by_executor AS executor_up,
                    count(*) FILTER (WHERE w.starts) OVER by_executor AS executor_taken,
                    count(*) FILTER (WHERE NOT w.is_bookmark) OVER by_pass AS pass_up,
                    count(*) FILTER (WHERE w.starts) OVER by_pass AS pass_taken,
                    bool_or(NOT w.starts) OVER () AS unfinished
                FROM (
                    SELECT
                        walk.*,
                        row_number() OVER (
                            ORDER BY
                                priority_weight DESC, logical_date, dag_id, run_id, task_id, map_index, is_bookmark
                        ) AS place
                    FROM walk
                ) AS w
                CROSS JOIN pass
                WINDOW
                    by_pass AS (ORDER BY w.place ROWS UNBOUNDED PRECEDING),
                    by_pool AS (PARTITION BY w.pool ORDER BY w.place ROWS UNBOUNDED PRECEDING),
                    by_run AS (PARTITION BY w.dag_id, w.run_id ORDER BY w.place ROWS UNBOUNDED PRECEDING),
                    by_task AS (PARTITION BY w.dag_id, w.task_id ORDER BY w.place ROWS UNBOUNDED PRECEDING),
                    by_task_in_run AS (
                        PARTITION BY w.dag_id, w.run_id, w.task_id ORDER BY w.place ROWS UNBOUNDED PRECEDING
                    ),
                    by_executor AS (PARTITION BY w.executor ORDER BY w.place ROWS UNBOUNDED PRECEDING)
            ) AS summed
        ) AS verdict
    ) AS judged
    CROSS JOIN LATERAL (
        -- 3a. Keep what starts or may start, and the bookmarks whose page is not turned yet.
        SELECT
            judged.is_bookmark,
            judged.rows_read,
            judged.page,
            judged.starts OR (NOT judged.is_bookmark AND judged.surely_fits AND NOT judged.behind_bookmark) AS starts,
            judged.dag_id,
            judged.run_id,
            judged.task_id,
            judged.map_index,
            judged.logical_date,
            judged.priority_weight,
            judged.pool,
            judged.pool_slots,
            judged.executor,
            judged.pool_free,
            judged.run_free,
            judged.task_free,
            judged.task_in_run_free,
            judged.executor_free
        WHERE judged.starts OR (judged.may_fit AND NOT judged.turn_page)

        UNION ALL

        -- 3b. Turn a page: the next candidates of the pool's line, and behind the last of a full page a new bookmark.
        SELECT
            mark.is_bookmark,
            judged.rows_read + judged.page,
            2 * judged.page,
            false,
            found.dag_id,
            found.run_id,
            found.task_id,
            found.map_index,
            found.logical_date,
            found.priority_weight,
            judged.pool,
            CASE WHEN mark.is_bookmark THEN 0 ELSE found.pool_slots END,
            found.executor,
            judged.pool_free,
            CASE WHEN NOT mark.is_bookmark THEN found.max_active_tasks - coalesce(ur.used, 0) END,
            CASE WHEN NOT mark.is_bookmark THEN found.max_active_tis_per_dag - coalesce(ut.used, 0) END,
            CASE WHEN NOT mark.is_bookmark THEN found.max_active_tis_per_dagrun - coalesce(utr.used, 0) END,
            CASE WHEN NOT mark.is_bookmark THEN e.free END
        FROM (
            SELECT
                line.*,
                bound.*,
                row_number() OVER (
                    ORDER BY
                        line.priority_weight DESC, line.logical_date, line.dag_id, line.run_id, line.task_id,
                        line.map_index
                    ROWS UNBOUNDED PRECEDING
                ) AS nth
            FROM (
                SELECT
                    ahead.*,
                    ahead.nth_of_line - max(ahead.nth_of_line) FILTER (WHERE ahead.is_first_of_kind) OVER (
                        ORDER BY priority_weight DESC, logical_date, dag_id, run_id, task_id, map_index
                        ROWS UNBOUNDED PRECEDING
                    ) AS same_before
                FROM (
                    SELECT
                        dag_id,
                        run_id,
                        task_id,
                        map_index,
                        logical_date,
                        priority_weight,
                        pool_slots,
                        coalesce(executor, '') AS executor,
                        row_number() OVER in_line AS nth_of_line,
                        (dag_id, run_id, task_id, pool_slots, executor) IS DISTINCT FROM (
                            lag(dag_id) OVER in_line, lag(run_id) OVER in_line, lag(task_id) OVER in_line,
                            lag(pool_slots) OVER in_line, lag(executor) OVER in_line
                        ) AS is_first_of_kind
                    FROM task_instance
                    WHERE state = 'scheduled' AND pool = judged.pool
                    WINDOW in_line AS (
                        ORDER BY priority_weight DESC, logical_date, dag_id, run_id, task_id, map_index
                        ROWS UNBOUNDED PRECEDING
                    )
                ) AS ahead
            ) AS line
            -- Looked up row by row, in the order of the line: OFFSET 0 keeps the planner from joining and sorting all.
            CROSS JOIN LATERAL (
                SELECT d.max_active_tasks, t.max_active_tis_per_dag, t.max_active_tis_per_dagrun
                FROM dag_run AS r
                JOIN dag AS d ON d.dag_id = r.dag_id
                LEFT JOIN task AS t ON t.dag_id = r.dag_id AND t.task_id = line.task_id
                WHERE
                    r.dag_id = line.dag_id AND r.run_id = line.run_id
                    AND r.state = 'running' AND NOT d.is_paused
                OFFSET 0
            ) AS bound
            WHERE
                (line.pool_slots <= judged.pool_free OR judged.pool_free IS NULL)
                -- Of task instances that need the same, no more than the limit can start.
                AND line.same_before < least(
                    bound.max_active_tasks, bound.max_active_tis_per_dag, bound.max_active_tis_per_dagrun
                )
                AND (line.dag_id, line.run_id) NOT IN (SELECT dag_id, run_id FROM full_run)
                AND (line.dag_id, line.task_id) NOT IN (SELECT dag_id, task_id FROM full_task)
                AND (line.dag_id, line.run_id, line.task_id) NOT IN (
                    SELECT dag_id, run_id, task_id FROM full_task_in_run
                )
                AND line.executor NOT IN (SELECT executor FROM executor_limit WHERE free <= 0)
            ORDER BY
                line.priority_weight DESC, line.logical_date, line.dag_id, line.run_id, line.task_id, line.map_index
            LIMIT judged.page OFFSET judged.rows_read
        ) AS found
        LEFT JOIN used_by_run AS ur ON ur.dag_id = found.dag_id AND ur.run_id = found.run_id
        LEFT JOIN used_by_task AS ut ON ut.dag_id = found.dag_id AND ut.task_id = found.task_id
        LEFT JOIN used_by_task_in_run AS utr
            ON utr.dag_id = found.dag_id AND utr.run_id = found.run_id AND utr.task_id = found.task_id
        LEFT JOIN executor_limit AS e ON e.executor = found.executor
        CROSS JOIN (VALUES (false), (true)) AS mark (is_bookmark)
        WHERE judged.turn_page AND (NOT mark.is_bookmark OR found.nth = judged.rows_read + judged.page)
    ) AS next_row
    -- The walk ends when all that is left starts.
    WHERE judged.unfinished
)

SELECT
    dag_id,
    run_id,
    task_id,
    map_index,
    logical_date,
    priority_weight,
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
            ORDER BY priority_weight DESC, logical_date, dag_id, run_id, task_id, map_index
        ) AS place
    FROM walk
    WHERE round = (SELECT max(round) FROM walk) AND starts
) AS started
WINDOW
    by_pool AS (PARTITION BY pool ORDER BY place ROWS UNBOUNDED PRECEDING),
    by_run AS (PARTITION BY dag_id, run_id ORDER BY place ROWS UNBOUNDED PRECEDING),
    by_task AS (PARTITION BY dag_id, task_id ORDER BY place ROWS UNBOUNDED PRECEDING),
    by_task_in_run AS (PARTITION BY dag_id, run_id, task_id ORDER BY place ROWS UNBOUNDED PRECEDING),
    by_executor AS (PARTITION BY executor ORDER BY place ROWS UNBOUNDED PRECEDING)
ORDER BY place
