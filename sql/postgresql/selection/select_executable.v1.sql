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
    SELECT CAST(:max_tis AS bigint) AS max_tis
),
executor_limit AS (
    SELECT key AS executor, CAST(value AS bigint) AS free
    FROM jsonb_each_text(CAST(:executor_slots AS jsonb))
),

-- 1. Pools with room. Only active rows of pools with a limit are counted.
open_pool AS MATERIALIZED (
    SELECT
        p.pool, row_number() OVER () AS pool_no, CASE WHEN p.slots <> -1 THEN p.slots - active.used END AS pool_free
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

-- 2. The scheduled rows of a pool stand in lanes, one for each width (pool_slots) and executor: what one row of a lane
--    needs of the two, all behind it need too. From the head of a lane one step of the index leads to the next lane;
--    lanes that are wider than the pool has room are not looked at.
head_of_lane AS (
    SELECT p.pool, p.pool_no, p.pool_free, head.*
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

    SELECT l.pool, l.pool_no, l.pool_free, head.*
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

-- Those from which something could start, by number in the order of their heads.
lane AS MATERIALIZED (
    SELECT
        row_number() OVER (
            ORDER BY h.priority_rank, h.date_rank, h.dag_id, h.run_id, h.task_id, h.map_index
        ) AS lane_no,
        h.*,
        e.free AS executor_free
    FROM head_of_lane AS h
    LEFT JOIN executor_limit AS e ON e.executor = h.executor
    WHERE (h.pool_free IS NULL OR h.pool_slots <= h.pool_free) AND (e.free IS NULL OR e.free > 0)
),

-- 3. The walk, step by step. It holds rows of four kinds: what has started; candidates that were read and wait for
--    their turn; runs with candidates in reserve, whose turn comes only if others of their run can't start; and for
--    each lane a bookmark, "read up to here". Nothing behind a bookmark is final.
--    in_reserve: one record for rows of a run that stand together in a lane (lane_no, priority_rank, date_rank,
--        task_ids, map_indexes, task_at, task_free, task_in_run_free). Such rows are many, and hardly ever needed.
--    The first step finds a bookmark before the head of each lane.
walk AS (
    SELECT
        CAST(0 AS bigint) AS started,
        CAST(0 AS bigint) AS decided,
        least(pass.max_tis, 1024) + 16 AS reach,
        false AS finished,
        'bookmark' AS kind,
        lane_no,
        CAST(pool AS text) COLLATE "C" AS pool,
        pool_slots,
        CAST(executor AS text) COLLATE "C" AS executor,
        priority_rank,
        date_rank,
        CAST(dag_id AS text) COLLATE "C" AS dag_id,
        CAST(run_id AS text) COLLATE "C" AS run_id,
        CAST(task_id AS text) COLLATE "C" AS task_id,
        map_index - 1 AS map_index,
        pool_no,
        pool_free,
        executor_free,
        CAST(NULL AS tid) AS run_at,
        CAST(NULL AS bigint) AS run_free,
        CAST(NULL AS tid) AS task_at,
        CAST(NULL AS bigint) AS task_free,
        CAST(NULL AS bigint) AS task_in_run_free,
        false AS may_replace,
        CAST(NULL AS record[]) AS in_reserve,
        lane_no AS place
    FROM lane
    CROSS JOIN pass

    UNION ALL

    SELECT *
    FROM (
        WITH RECURSIVE
        -- 3a. What the steps before have left.
        handed_on AS MATERIALIZED (
            SELECT *
            FROM walk
            WHERE NOT finished
        ),
        now AS MATERIALIZED (
            SELECT min(started + reach) AS reach, min(decided) AS decided
            FROM handed_on
        ),
        -- Full by what has started: nothing more of these runs and tasks can.
        full_run AS MATERIALIZED (
            SELECT run_at
            FROM handed_on
            WHERE kind = 'started'
            GROUP BY run_at
            HAVING count(*) >= min(run_free)
        ),
        full_task AS MATERIALIZED (
            SELECT task_at
            FROM handed_on
            WHERE kind = 'started'
            GROUP BY task_at
            HAVING count(*) >= min(task_free)
        ),
        -- Bookmarks of lanes from which something can start yet. Those within reach have their turn to be read on.
        -- page: the lane's share of what is within reach and not read yet, and a margin. Of what is in reserve, as much
        --     is taken to stand ahead of a bookmark as of what is waiting.
        bookmark AS MATERIALIZED (
            SELECT
                b.*,
                ahead <= reach AS turn,
                CAST(1 + share + 3 * sqrt(share) AS bigint) AS page
            FROM (
                SELECT
                    handed_on.*,
                    greatest(1, least(reach, count(*) FILTER (WHERE kind = 'bookmark') OVER ())) AS lanes,
                    count(*) FILTER (WHERE kind <> 'started') OVER up_to AS ahead,
                    count(*) FILTER (WHERE kind = 'waiting') OVER up_to AS waiting_ahead,
                    greatest(1, count(*) FILTER (WHERE kind = 'waiting') OVER ()) AS waiting,
                    (
                        SELECT coalesce(sum(cardinality(in_reserve)), 0) FROM handed_on
                        WHERE kind = 'reserve' AND run_at IN (SELECT run_at FROM full_run) IS NOT TRUE
                    ) AS reserved,
                    pool_free - sum(pool_slots) FILTER (WHERE kind = 'started') OVER (PARTITION BY pool_no)
                    AS pool_left,
                    executor_free - count(*) FILTER (WHERE kind = 'started') OVER (PARTITION BY executor)
                    AS executor_left
                FROM handed_on
                WHERE kind <> 'reserve'
                WINDOW up_to AS (ORDER BY place ROWS UNBOUNDED PRECEDING)
            ) AS b
            CROSS JOIN LATERAL (
                SELECT greatest(reach - waiting_ahead * (waiting + reserved) / waiting, lanes) / lanes AS share
            ) AS of_reach
            WHERE kind = 'bookmark' AND coalesce(pool_left >= pool_slots, true) AND coalesce(executor_left >= 1, true)
        ),

        -- 3b. Read on behind the bookmarks within reach, in hops. A hop reads some rows of each lane, keeps those that
        --     may start, and ends behind the last one: or behind its whole run or task, if none of the rest can start,
        --     however many wait there.
        hop AS (
            SELECT
                lane_no, pool, pool_no, pool_slots, executor, pool_free, executor_free,
                0 AS hops, CAST(0 AS bigint) AS kept, page, page AS size,
                false AS is_kept, true AS is_end,
                priority_rank, date_rank, dag_id, run_id, task_id, map_index,
                run_id AS end_run_id, task_id AS end_task_id, map_index AS end_map_index,
                run_at, run_free, task_at, task_free, task_in_run_free, in_reserve
            FROM bookmark
            WHERE turn

            UNION ALL

            SELECT *
            FROM (
                WITH
                lane_to_read AS MATERIALIZED (
                    SELECT *
                    FROM hop
                    WHERE is_end AND kept < page AND hops < 8 * page
                ),
                -- The rows of a run that stand together in a lane are one row here. up_to: rows of the hop so far.
                run_read AS MATERIALIZED (
                    SELECT lane.lane_no, behind.*, behind.up_to = lane.size AS ends_hop
                    FROM lane_to_read AS lane
                    CROSS JOIN LATERAL (
                        SELECT
                            priority_rank, date_rank, dag_id, run_id,
                            array_agg(CAST(task_id AS text) ORDER BY task_id, map_index) AS task_ids,
                            array_agg(map_index ORDER BY task_id, map_index) AS map_indexes,
                            count(*) AS length,
                            sum(CAST(count(*) AS integer)) OVER (
                                ORDER BY priority_rank, date_rank, dag_id, run_id ROWS UNBOUNDED PRECEDING
                            ) AS up_to
                        FROM (
                            SELECT
                                -1 - priority_weight AS priority_rank,
                                coalesce(logical_date, 'infinity') AS date_rank,
                                dag_id, run_id, task_id, map_index
                            FROM task_instance
                            WHERE
                                state = 'scheduled'
                                AND pool = lane.pool AND pool_slots = lane.pool_slots
                                AND coalesce(executor, '') = lane.executor
                                AND (
                                    -1 - priority_weight, coalesce(logical_date, 'infinity'),
                                    dag_id, run_id, task_id, map_index
                                ) > (
                                    lane.priority_rank, lane.date_rank,
                                    lane.dag_id, lane.end_run_id, lane.end_task_id, lane.end_map_index
                                )
                            ORDER BY
                                -1 - priority_weight, coalesce(logical_date, 'infinity'),
                                dag_id, run_id, task_id, map_index
                            LIMIT lane.size
                        ) AS line
                        GROUP BY priority_rank, date_rank, dag_id, run_id
                    ) AS behind
                ),
                -- Each run is looked up by key once for all lanes: where its row stands (short to sort by), and what it
                -- has free. OFFSET 0 keeps it from becoming another kind of join.
                known_run AS MATERIALIZED (
                    SELECT met.dag_id, met.run_id, known.*
                    FROM (SELECT DISTINCT dag_id, run_id FROM run_read) AS met
                    LEFT JOIN LATERAL (
                        SELECT
                            r.ctid AS run_at,
                            d.max_active_tasks - (
                                SELECT count(*)
                                FROM task_instance AS a
                                WHERE
                                    a.state IN ('queued', 'running', 'deferred')
                                    AND a.state <> 'deferred'
                                    AND a.dag_id = r.dag_id AND a.run_id = r.run_id
                            ) AS run_free,
                            EXISTS(
                                SELECT FROM task AS t
                                WHERE
                                    t.dag_id = r.dag_id
                                    AND (
                                        t.max_active_tis_per_dag IS NOT NULL
                                        OR t.max_active_tis_per_dagrun IS NOT NULL
                                    )
                            ) AS has_task_limits
                        FROM dag_run AS r
                        JOIN dag AS d ON d.dag_id = r.dag_id
                        WHERE
                            r.dag_id = met.dag_id AND r.run_id = met.run_id
                            AND r.state = 'running' AND NOT d.is_paused
                            AND r.ctid IN (SELECT run_at FROM full_run) IS NOT TRUE
                        OFFSET 0
                    ) AS known ON true
                ),
                -- FULL adds no row, since all that is known is known of these runs. But unlike an inner or a LEFT
                -- join it is never done row by row, which is what the planner would take for lists of unknown size.
                run_and_room AS (
                    SELECT
                        run_read.*, known_run.run_at, known_run.run_free,
                        coalesce(known_run.has_task_limits, false) AS has_task_limits
                    FROM run_read
                    FULL JOIN known_run ON known_run.dag_id = run_read.dag_id AND known_run.run_id = run_read.run_id
                ),
                -- wanted: rows beyond what the run has free are left out, but for the last one of a hop; where tasks of
                -- the dag have limits, is_kept decides that later. is_reserve: that many other rows of the run that may
                -- start, and a spare one (see 3c), stand before all of these.
                run_wanted AS MATERIALIZED (
                    SELECT
                        run_and_room.*,
                        wanted,
                        wanted > 0 AND NOT has_task_limits AND NOT ends_hop
                        AND run_free + 1 < row_number() OVER (
                            PARTITION BY run_at ORDER BY priority_rank, date_rank, task_ids[1], map_indexes[1]
                            ROWS UNBOUNDED PRECEDING
                        ) AS is_reserve
                    FROM run_and_room
                    CROSS JOIN LATERAL (
                        SELECT
                            CASE
                                WHEN has_task_limits OR ends_hop THEN length
                                ELSE least(length, coalesce(run_free, 0))
                            END AS wanted
                    ) AS of_run
                ),
                reserve_of_run AS (
                    SELECT
                        dag_id, run_id, run_at, run_free,
                        array_agg(
                            row(
                                lane_no, priority_rank, date_rank, task_ids[1 : wanted], map_indexes[1 : wanted],
                                CAST(NULL AS tid), CAST(NULL AS bigint), CAST(NULL AS bigint)
                            )
                        ) AS in_reserve
                    FROM run_wanted
                    WHERE is_reserve
                    GROUP BY run_at, run_free, dag_id, run_id
                ),
                reserve_of_lane AS (
                    SELECT lane_no, CAST(sum(wanted) AS bigint) AS reserved
                    FROM run_wanted
                    WHERE is_reserve
                    GROUP BY lane_no
                ),
                -- The others as rows again. All numbers come from one list, since of generate_series the planner would
                -- expect 1,000 rows each time.
                numbering AS MATERIALIZED (
                    SELECT array_agg(number ORDER BY number) AS numbers
                    FROM generate_series(1, (SELECT max(length) FROM run_read)) AS number
                ),
                row_and_run AS MATERIALIZED (
                    SELECT
                        lane_no, priority_rank, date_rank, dag_id, run_id,
                        unnest(task_ids[1 : wanted]) AS task_id,
                        unnest(map_indexes[1 : wanted]) AS map_index,
                        unnest((SELECT numbers FROM numbering)[1 : wanted]) AS nth_in_run,
                        length, up_to, ends_hop, run_at, run_free, has_task_limits
                    FROM run_wanted
                    WHERE NOT is_reserve
                ),
                -- Where tasks of the dag have limits, each is looked up by key for the first of its rows.
                row_and_task AS (
                    SELECT
                        r.*,
                        first_value(known.task_at) OVER of_task AS task_at,
                        first_value(known.task_free) OVER of_task AS task_free,
                        first_value(known.task_in_run_free) OVER of_task AS task_in_run_free
                    FROM (
                        SELECT row_and_run.*, row_number() OVER of_task AS nth_of_task
                        FROM row_and_run
                        WHERE has_task_limits
                        WINDOW of_task AS (
                            PARTITION BY lane_no, up_to, task_id ORDER BY nth_in_run ROWS UNBOUNDED PRECEDING
                        )
                    ) AS r
                    LEFT JOIN LATERAL (
                        SELECT
                            t.ctid AS task_at,
                            CASE
                                WHEN t.ctid IN (SELECT task_at FROM full_task) THEN 0
                                ELSE t.max_active_tis_per_dag - (
                                    SELECT count(*)
                                    FROM task_instance AS a
                                    WHERE
                                        a.state IN ('queued', 'running', 'deferred')
                                        AND t.max_active_tis_per_dag IS NOT NULL
                                        AND a.dag_id = t.dag_id AND a.task_id = t.task_id
                                )
                            END AS task_free,
                            t.max_active_tis_per_dagrun - (
                                SELECT count(*)
                                FROM task_instance AS a
                                WHERE
                                    a.state IN ('queued', 'running', 'deferred')
                                    AND t.max_active_tis_per_dagrun IS NOT NULL
                                    -- An expression, so that it is looked up by run, not by task.
                                    AND a.dag_id = t.dag_id AND a.run_id = r.run_id
                                    AND coalesce(a.task_id, '') = t.task_id
                            ) AS task_in_run_free
                        FROM task AS t
                        WHERE
                            r.nth_of_task = 1
                            AND t.dag_id = r.dag_id AND t.task_id = r.task_id
                            AND (
                                t.max_active_tis_per_dag IS NOT NULL
                                OR t.max_active_tis_per_dagrun IS NOT NULL
                            )
                        OFFSET 0
                    ) AS known ON true
                    WINDOW of_task AS (
                        PARTITION BY lane_no, up_to, task_id ORDER BY nth_in_run ROWS UNBOUNDED PRECEDING
                    )
                ),
                counted AS (
                    SELECT
                        row_and_run.*,
                        nth_in_run AS nth_of_task,
                        CAST(NULL AS tid) AS task_at,
                        CAST(NULL AS bigint) AS task_free,
                        CAST(NULL AS bigint) AS task_in_run_free,
                        nth_in_run AS nth_of_run
                    FROM row_and_run
                    WHERE NOT has_task_limits

                    UNION ALL

                    SELECT
                        row_and_task.*,
                        count(*) FILTER (WHERE task_at IS NULL) OVER (
                            PARTITION BY lane_no, up_to ORDER BY task_id, nth_in_run ROWS UNBOUNDED PRECEDING
                        )
                    FROM row_and_task
                ),
                -- Of rows that need the same, no more than there is room for can start. A row of a task without
                -- limits needs nothing that others of its run and lane do not need as well.
                weighed AS (
                    SELECT
                        counted.*,
                        coalesce(nth_of_run >= run_free, true) AS run_is_through,
                        nth_of_task >= least(run_free, task_free, task_in_run_free) AS task_is_through,
                        coalesce(
                            nth_of_task <= least(run_free, task_free, task_in_run_free)
                            AND nth_of_run <= run_free - CASE WHEN task_at IS NULL THEN 0 ELSE 1 END,
                            false
                        ) AS is_kept
                    FROM counted
                ),
                found AS (
                    SELECT
                        weighed.*,
                        ends_hop AND nth_in_run = length AS is_end,
                        count(*) FILTER (WHERE is_kept) OVER (PARTITION BY lane_no) AS kept_of_these
                    FROM weighed
                ),
                found_in_lane AS (
                    SELECT
                        f.*,
                        lane.pool, lane.pool_no, lane.pool_slots, lane.executor, lane.pool_free, lane.executor_free,
                        lane.hops, lane.kept, lane.page, lane.size,
                        kept_of_these + coalesce(reserved, 0) AS kept_now
                    FROM (SELECT * FROM found WHERE is_kept OR is_end) AS f
                    FULL JOIN reserve_of_lane USING (lane_no)
                    FULL JOIN lane_to_read AS lane USING (lane_no)
                    -- coalesce() keeps it a FULL join.
                    WHERE coalesce(f.length > 0, false)
                )
                SELECT
                    lane_no, pool, pool_no, pool_slots, executor, pool_free, executor_free,
                    hops + 1,
                    kept + kept_now,
                    page,
                    -- Next, as many rows as hold what is wanted yet by the share that is kept of these; at most twice
                    -- as many, and four pages. Two where one run or task fills the hop, without a row that may start.
                    CASE
                        WHEN 2 * kept_now >= size THEN greatest(4, page - kept - kept_now)
                        WHEN length = size THEN 2
                        ELSE least(2 * size, 4 * page, (page - kept - kept_now) * size / greatest(kept_now, 1))
                    END,
                    is_kept,
                    is_end,
                    priority_rank, date_rank, dag_id, run_id, task_id, map_index,
                    CASE WHEN run_is_through THEN run_id || chr(1) ELSE run_id END,
                    CASE
                        WHEN run_is_through THEN ''
                        WHEN task_is_through THEN task_id || chr(1)
                        ELSE task_id
                    END,
                    CASE WHEN run_is_through OR task_is_through THEN -2 ELSE map_index END,
                    run_at, run_free, task_at, task_free, task_in_run_free, CAST(NULL AS record[])
                FROM found_in_lane

                UNION ALL

                SELECT
                    NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                    NULL, NULL, NULL, NULL, false, false,
                    NULL, NULL, dag_id, run_id, NULL, NULL, NULL, NULL, NULL,
                    run_at, run_free, NULL, NULL, NULL, in_reserve
                FROM reserve_of_run
            ) AS next_hop
        ),

        -- 3c. By run: its candidates, and what has started of it. Spare: more than the run has room for. They start
        --     only if others of the run do not, so they are left out until it has lost one. The first spare row stands
        --     for all behind it, which are held in reserve.
        --     The reserve of a run is released once a candidate of it is lost, or can't start any more, its task being
        --     full.
        released_run AS MATERIALIZED (
            SELECT run_at
            FROM handed_on
            WHERE may_replace OR (kind = 'waiting' AND task_at IN (SELECT task_at FROM full_task) IS TRUE)
        ),
        run_with_reserve AS MATERIALIZED (
            SELECT r.*, run_at IN (SELECT run_at FROM released_run) IS TRUE AS is_released
            FROM (
                SELECT dag_id, run_id, run_at, run_free, may_replace, in_reserve
                FROM handed_on
                WHERE kind = 'reserve' AND run_at IN (SELECT run_at FROM full_run) IS NOT TRUE
                UNION ALL
                SELECT dag_id, run_id, run_at, run_free, false, in_reserve
                FROM hop
                WHERE in_reserve IS NOT NULL
            ) AS r
        ),
        -- As rows again.
        released AS (
            SELECT
                lane_no, priority_rank, date_rank, dag_id, run_id,
                unnest(task_ids) COLLATE "C" AS task_id, unnest(map_indexes) AS map_index,
                run_at, run_free, task_at, task_free, task_in_run_free, may_replace
            FROM run_with_reserve
            CROSS JOIN LATERAL unnest(in_reserve) AS together (
                lane_no bigint, priority_rank integer, date_rank timestamp with time zone,
                task_ids text[], map_indexes integer[],
                task_at tid, task_free bigint, task_in_run_free bigint
            )
            WHERE is_released
        ),
        candidate AS MATERIALIZED (
            SELECT
                c.*,
                bool_or(may_replace) OVER by_run AS run_has_lost,
                row_number() OVER by_run - run_free AS beyond
            FROM (
                SELECT
                    kind = 'started' AS has_started,
                    lane_no, pool, pool_slots, executor,
                    priority_rank, date_rank, dag_id, run_id, task_id, map_index,
                    pool_no, pool_free, executor_free, run_at, run_free, task_at, task_free, task_in_run_free,
                    may_replace
                FROM handed_on
                WHERE
                    kind = 'started'
                    OR (
                        kind = 'waiting'
                        AND run_at IN (SELECT run_at FROM full_run) IS NOT TRUE
                        AND task_at IN (SELECT task_at FROM full_task) IS NOT TRUE
                    )
                UNION ALL
                SELECT
                    false,
                    lane_no, pool, pool_slots, executor,
                    priority_rank, date_rank, dag_id, run_id, task_id, map_index,
                    pool_no, pool_free, executor_free, run_at, run_free, task_at, task_free, task_in_run_free,
                    false
                FROM hop
                WHERE is_kept
                UNION ALL
                SELECT
                    false,
                    lane_no, CAST(lane.pool AS text), lane.pool_slots, CAST(lane.executor AS text),
                    r.priority_rank, r.date_rank, r.dag_id, r.run_id, r.task_id, r.map_index,
                    lane.pool_no, lane.pool_free, lane.executor_free, run_at, run_free,
                    task_at, task_free, task_in_run_free, may_replace
                FROM released AS r
                FULL JOIN lane USING (lane_no)
                -- coalesce() keeps it a FULL join.
                WHERE
                    coalesce(run_at IS NOT NULL, false)
                    AND task_at IN (SELECT task_at FROM full_task) IS NOT TRUE
            ) AS c
            WINDOW by_run AS (
                PARTITION BY run_at ORDER BY may_replace DESC, priority_rank, date_rank, task_id, map_index
                ROWS UNBOUNDED PRECEDING
            )
        ),
        reserve AS MATERIALIZED (
            SELECT
                dag_id, run_id, run_at, run_free,
                array_agg(
                    row(
                        lane_no, priority_rank, date_rank, ARRAY[CAST(task_id AS text)], ARRAY[map_index],
                        task_at, task_free, task_in_run_free
                    )
                ) AS in_reserve
            FROM candidate
            WHERE beyond > 1 AND NOT run_has_lost
            GROUP BY run_at, run_free, dag_id, run_id
            UNION ALL
            SELECT dag_id, run_id, run_at, run_free, in_reserve
            FROM run_with_reserve
            WHERE NOT is_released
        ),
        -- All others and the bookmarks in the total order.
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
                    false AS is_bookmark, has_started,
                    lane_no, pool, pool_slots, executor,
                    priority_rank, date_rank, dag_id, run_id, task_id, map_index,
                    pool_no, pool_free, executor_free, run_at, run_free, task_at, task_free, task_in_run_free,
                    may_replace, run_has_lost, beyond > 0 AND NOT run_has_lost AS is_spare
                FROM candidate
                WHERE beyond <= 1 OR run_has_lost
                UNION ALL
                SELECT
                    true, false,
                    lane_no, pool, pool_slots, executor,
                    priority_rank, date_rank, dag_id, run_id, task_id, map_index,
                    pool_no, pool_free, executor_free, NULL, NULL, NULL, NULL, NULL, false, false, false
                FROM bookmark
                WHERE NOT turn
                UNION ALL
                SELECT
                    true, false,
                    lane_no, pool, pool_slots, executor,
                    priority_rank, date_rank, dag_id, end_run_id, end_task_id, end_map_index,
                    pool_no, pool_free, executor_free, NULL, NULL, NULL, NULL, NULL, false, false, false
                FROM hop
                WHERE is_end AND (kept >= page OR hops >= 8 * page)
            ) AS l
        ),

        -- 3d. Due are the candidates before the first bookmark; those that have started are counted along with them.
        due AS MATERIALIZED (
            SELECT *
            FROM line
            WHERE bookmarks = 0 AND NOT is_bookmark AND place <= (SELECT reach FROM now)
        ),
        -- Contested: a holder of it has not room for all that are due. The others start.
        judged AS MATERIALIZED (
            SELECT
                due.*,
                run_has_lost
                OR sum(pool_slots) OVER (PARTITION BY pool_no) > pool_free IS TRUE
                OR count(*) OVER (PARTITION BY task_at) > task_free IS TRUE
                OR count(*) OVER (PARTITION BY task_at, run_at) > task_in_run_free IS TRUE
                OR count(*) OVER (PARTITION BY executor) > executor_free IS TRUE
                AS is_contested
            FROM due
            WHERE NOT is_spare
        ),

        -- 3e. Rounds over the contested. up: what is taken of a holder if all up to and with this one start; taken: by
        --     those before it that surely start, and then no longer part of what is free. It surely starts if up fits
        --     all its holders, and surely does not if it does not fit beside what is taken. The rest has another round.
        round AS (
            SELECT
                place, has_started AS starts, true AS is_open,
                pool_no, pool_slots, executor, run_at, task_at,
                pool_free, run_free, task_free, task_in_run_free, executor_free
            FROM judged
            WHERE is_contested

            UNION ALL

            SELECT
                place, surely_fits, bool_or(NOT surely_fits) OVER (),
                pool_no, pool_slots, executor, run_at, task_at,
                pool_free - pool_taken, run_free - run_taken, task_free - task_taken,
                task_in_run_free - task_in_run_taken, executor_free - executor_taken
            FROM (
                SELECT
                    summed.*,
                    -- least() leaves NULL out: no limit.
                    least(
                        pool_free - pool_up, run_free - run_up, task_free - task_up,
                        task_in_run_free - task_in_run_up, executor_free - executor_up
                    ) >= 0 AS surely_fits,
                    least(
                        pool_free - pool_taken - pool_slots, run_free - run_taken - 1, task_free - task_taken - 1,
                        task_in_run_free - task_in_run_taken - 1, executor_free - executor_taken - 1
                    ) >= 0 AS may_fit
                FROM (
                    SELECT
                        r.*,
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
                    WHERE is_open
                    WINDOW
                        by_pool AS (PARTITION BY pool_no ORDER BY place ROWS UNBOUNDED PRECEDING),
                        by_run AS (PARTITION BY run_at ORDER BY place ROWS UNBOUNDED PRECEDING),
                        by_task AS (PARTITION BY task_at ORDER BY place ROWS UNBOUNDED PRECEDING),
                        by_task_in_run AS (PARTITION BY run_at, task_at ORDER BY place ROWS UNBOUNDED PRECEDING),
                        by_executor AS (PARTITION BY executor ORDER BY place ROWS UNBOUNDED PRECEDING)
                ) AS summed
            ) AS verdict
            WHERE NOT starts AND (surely_fits OR may_fit)
        ),
        outcome AS MATERIALIZED (
            SELECT
                judged.*,
                NOT is_contested OR place IN (SELECT place FROM round WHERE starts) AS starts
            FROM judged
        ),

        -- 3f. A spare row is passed over if the others of its run all start; from the first other one on, nothing is
        --     final. (IS TRUE keeps IN from becoming a join, for which the planner would guess wrong sizes.)
        final AS MATERIALIZED (
            SELECT coalesce(min(place), (SELECT max(place) + 1 FROM due)) AS before
            FROM due
            WHERE is_spare AND run_at IN (SELECT run_at FROM outcome WHERE NOT starts) IS TRUE
        ),
        started AS MATERIALIZED (
            SELECT *
            FROM outcome
            WHERE starts AND place < (SELECT before FROM final)
            ORDER BY place
            LIMIT (SELECT max_tis FROM pass)
        ),
        left_over AS MATERIALIZED (
            SELECT *
            FROM line
            WHERE
                place >= (SELECT before FROM final) OR bookmarks > 0 OR place > (SELECT reach FROM now)
        ),

        -- 3g. What has started, and unless that fills the pass, all that is left over for the next step. What is in
        --     reserve of a run that is full now was decided along with it.
        --     reach: how many candidates the next step looks at. More than may still start, by the share that did so
        --     far; but not many more than this step could decide.
        tally AS MATERIALIZED (
            SELECT
                step.started,
                step.started >= pass.max_tis OR NOT EXISTS (SELECT FROM left_over) AS finished,
                step.decided + step.decided_now AS decided,
                least(
                    64 + 3 * (pass.max_tis - step.started) * (step.decided + step.decided_now)
                    / greatest(2 * step.started, 1),
                    greatest(1024, 2 * step.decided_now)
                ) AS reach
            FROM (
                SELECT
                    (SELECT count(*) FROM started) AS started,
                    (SELECT decided FROM now) AS decided,
                    (
                        SELECT count(*) FROM due WHERE NOT has_started AND place < (SELECT before FROM final)
                    ) + (
                        SELECT coalesce(sum(cardinality(in_reserve)), 0) FROM handed_on
                        WHERE kind = 'reserve' AND run_at IN (SELECT run_at FROM full_run) IS TRUE
                    ) AS decided_now
            ) AS step
            CROSS JOIN pass
        )
        SELECT
            tally.started,
            tally.decided,
            tally.reach,
            tally.finished,
            'started',
            lane_no, pool, pool_slots, executor,
            priority_rank, date_rank, dag_id, run_id, task_id, map_index,
            pool_no, pool_free, executor_free, run_at, run_free, task_at, task_free, task_in_run_free,
            false, CAST(NULL AS record[]), place
        FROM started
        CROSS JOIN tally
        UNION ALL
        SELECT
            tally.started,
            tally.decided,
            tally.reach,
            false,
            CASE WHEN is_bookmark THEN 'bookmark' ELSE 'waiting' END,
            lane_no, pool, pool_slots, executor,
            priority_rank, date_rank, dag_id, run_id, task_id, map_index,
            pool_no, pool_free, executor_free, run_at, run_free, task_at, task_free, task_in_run_free,
            may_replace OR run_at IN (SELECT run_at FROM outcome WHERE NOT starts) IS TRUE, NULL, place
        FROM left_over
        CROSS JOIN tally
        WHERE NOT tally.finished
        UNION ALL
        SELECT
            tally.started,
            tally.decided,
            tally.reach,
            false,
            'reserve',
            NULL, NULL, NULL, NULL,
            NULL, NULL, dag_id, run_id, NULL, NULL,
            NULL, NULL, NULL, run_at, run_free, NULL, NULL, NULL,
            run_at IN (SELECT run_at FROM outcome WHERE NOT starts) IS TRUE, in_reserve, NULL
        FROM reserve
        CROSS JOIN tally
        WHERE NOT tally.finished
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
    SELECT *
    FROM walk
    WHERE finished
) AS started
WINDOW
    by_pool AS (PARTITION BY pool_no ORDER BY place ROWS UNBOUNDED PRECEDING),
    by_run AS (PARTITION BY run_at ORDER BY place ROWS UNBOUNDED PRECEDING),
    by_task AS (PARTITION BY task_at ORDER BY place ROWS UNBOUNDED PRECEDING),
    by_task_in_run AS (PARTITION BY run_at, task_at ORDER BY place ROWS UNBOUNDED PRECEDING),
    by_executor AS (PARTITION BY executor ORDER BY place ROWS UNBOUNDED PRECEDING)
ORDER BY place
