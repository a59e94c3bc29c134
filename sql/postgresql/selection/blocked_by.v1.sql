-- name: selection/blocked_by
-- version: 1
-- purpose: For scheduled task instances not admitted: each limit that stops one, at its place in the walk.
-- result: rows
-- param max_tis: integer; as given to selection/select_executable
-- param executor_slots: json; as given to selection/select_executable
-- param admitted: json; [[dag_id, run_id, task_id, map_index], ...] that selection/select_executable returned
-- param dag_id: text; only of this dag; NULL = any
-- param run_id: text; only of this run; NULL = any
-- param task_id: text; only of this task; NULL = any
-- param map_index: integer; only this map index; NULL = any
-- param pool: text; only in this pool; NULL = any
-- param after_dag_id: text; with the next three: the key of the last row of the page before, '' at first
-- param after_run_id: text; '' at first
-- param after_task_id: text; '' at first
-- param after_map_index: integer; -2 at first
-- param page_size: integer; most task instances to return, at least 1
-- column dag_id: text
-- column run_id: text
-- column task_id: text
-- column map_index: integer
-- column pool: text
-- column pool_slots: integer
-- column limit_name: text; pool, no_pool, max_active_tasks, max_active_tis_per_dag, max_active_tis_per_dagrun,
--   executor, max_tis, paused or dag_run_state
-- column holder: json; what carries the limit: [pool], [dag_id, run_id], [dag_id, task_id], ...
-- column used: integer; slots of a pool, else task instances, the admitted ones before it included
-- column capacity: integer; likewise
-- column never: boolean; it can't start however long it waits: too wide for its pool, no such pool, a bound of 0
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: as selection/select_executable
-- server: 15
-- plan-waiver: stale: a report for people, not part of a pass: without statistics a page may sort all rows that wait
-- plan-waiver: bulk: a report for people, not part of a pass: without statistics a page may sort all rows that wait
-- origin: generated: selectq.generate.blocked.blocked_by, by 'selectq sql generate'; edit that, not this file

WITH given AS (
    SELECT
        CAST(j.value ->> 0 AS TEXT) AS dag_id,
        CAST(j.value ->> 1 AS TEXT) AS run_id,
        CAST(j.value ->> 2 AS TEXT) AS task_id,
        CAST(j.value ->> 3 AS INT) AS map_index
    FROM JSONB_ARRAY_ELEMENTS(CAST(:admitted AS JSONB)) AS j
),
admitted AS (
    SELECT
        task_instance.dag_id,
        task_instance.run_id,
        task_instance.task_id,
        task_instance.map_index,
        task_instance.logical_date,
        task_instance.priority_weight,
        task_instance.pool,
        task_instance.pool_slots,
        COALESCE(task_instance.executor, '') AS executor,
        TRUE AS starts
    FROM given
    JOIN task_instance
        ON task_instance.dag_id = given.dag_id
        AND task_instance.run_id = given.run_id
        AND task_instance.task_id = given.task_id
        AND task_instance.map_index = given.map_index
),
page AS (
    SELECT
        task_instance.dag_id,
        task_instance.run_id,
        task_instance.task_id,
        task_instance.map_index,
        task_instance.logical_date,
        task_instance.priority_weight,
        task_instance.pool,
        task_instance.pool_slots,
        COALESCE(task_instance.executor, '') AS executor,
        FALSE AS starts
    FROM task_instance
    WHERE
        task_instance.state = 'scheduled'
        AND (
            CAST(:dag_id AS TEXT) IS NULL
            OR task_instance.dag_id = CAST(:dag_id AS TEXT)
        )
        AND (
            CAST(:run_id AS TEXT) IS NULL
            OR task_instance.run_id = CAST(:run_id AS TEXT)
        )
        AND (
            CAST(:task_id AS TEXT) IS NULL
            OR task_instance.task_id = CAST(:task_id AS TEXT)
        )
        AND (
            CAST(:map_index AS INT) IS NULL
            OR task_instance.map_index = CAST(:map_index AS INT)
        )
        AND (
            CAST(:pool AS TEXT) IS NULL
            OR task_instance.pool = CAST(:pool AS TEXT)
        )
        AND (
            task_instance.dag_id > CAST(:after_dag_id AS TEXT)
            OR task_instance.dag_id = CAST(:after_dag_id AS TEXT)
            AND task_instance.run_id > CAST(:after_run_id AS TEXT)
            OR task_instance.dag_id = CAST(:after_dag_id AS TEXT)
            AND task_instance.run_id = CAST(:after_run_id AS TEXT)
            AND task_instance.task_id > CAST(:after_task_id AS TEXT)
            OR task_instance.dag_id = CAST(:after_dag_id AS TEXT)
            AND task_instance.run_id = CAST(:after_run_id AS TEXT)
            AND task_instance.task_id = CAST(:after_task_id AS TEXT)
            AND task_instance.map_index > CAST(:after_map_index AS INT)
        )
        AND NOT (
            EXISTS(
                SELECT
                    *
                FROM admitted
                WHERE
                    admitted.dag_id = task_instance.dag_id
                    AND admitted.run_id = task_instance.run_id
                    AND admitted.task_id = task_instance.task_id
                    AND admitted.map_index = task_instance.map_index
            )
        )
    ORDER BY
        task_instance.dag_id,
        task_instance.run_id,
        task_instance.task_id,
        task_instance.map_index
    LIMIT CAST(:page_size AS INT)
),
in_walk AS (
    SELECT
        admitted.dag_id,
        admitted.run_id,
        admitted.task_id,
        admitted.map_index,
        admitted.logical_date,
        admitted.priority_weight,
        admitted.pool,
        admitted.pool_slots,
        admitted.executor,
        admitted.starts
    FROM admitted
    UNION ALL
    SELECT
        page.dag_id,
        page.run_id,
        page.task_id,
        page.map_index,
        page.logical_date,
        page.priority_weight,
        page.pool,
        page.pool_slots,
        page.executor,
        page.starts
    FROM page
),
placed AS (
    SELECT
        in_walk.dag_id,
        in_walk.run_id,
        in_walk.task_id,
        in_walk.map_index,
        in_walk.logical_date,
        in_walk.priority_weight,
        in_walk.pool,
        in_walk.pool_slots,
        in_walk.executor,
        in_walk.starts,
        ROW_NUMBER() OVER (
            ORDER BY in_walk.priority_weight DESC, in_walk.logical_date IS NULL, in_walk.logical_date, in_walk.dag_id,
                in_walk.run_id, in_walk.task_id, in_walk.map_index
        ) AS place
    FROM in_walk
),
walk AS (
    SELECT
        placed.dag_id,
        placed.run_id,
        placed.task_id,
        placed.map_index,
        placed.logical_date,
        placed.priority_weight,
        placed.pool,
        placed.pool_slots,
        placed.executor,
        placed.starts,
        placed.place,
        SUM(CASE WHEN placed.starts THEN 1 ELSE 0 END) OVER (
            ORDER BY placed.place
            ROWS UNBOUNDED PRECEDING
        ) AS pass_taken,
        SUM(CASE WHEN placed.starts THEN placed.pool_slots ELSE 0 END) OVER (
            PARTITION BY placed.pool
            ORDER BY placed.place
            ROWS UNBOUNDED PRECEDING
        ) AS pool_taken,
        SUM(CASE WHEN placed.starts THEN 1 ELSE 0 END) OVER (
            PARTITION BY placed.dag_id, placed.run_id
            ORDER BY placed.place
            ROWS UNBOUNDED PRECEDING
        ) AS run_taken,
        SUM(CASE WHEN placed.starts THEN 1 ELSE 0 END) OVER (
            PARTITION BY placed.dag_id, placed.task_id
            ORDER BY placed.place
            ROWS UNBOUNDED PRECEDING
        ) AS task_taken,
        SUM(CASE WHEN placed.starts THEN 1 ELSE 0 END) OVER (
            PARTITION BY placed.dag_id, placed.run_id, placed.task_id
            ORDER BY placed.place
            ROWS UNBOUNDED PRECEDING
        ) AS task_in_run_taken,
        SUM(CASE WHEN placed.starts THEN 1 ELSE 0 END) OVER (
            PARTITION BY placed.executor
            ORDER BY placed.place
            ROWS UNBOUNDED PRECEDING
        ) AS executor_taken
    FROM placed
),
active AS (
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
),
used_by_run AS (
    SELECT
        active.dag_id,
        active.run_id,
        COUNT(*) AS used
    FROM active
    WHERE
        active.state <> 'deferred'
    GROUP BY
        active.dag_id,
        active.run_id
),
used_by_task AS (
    SELECT
        active.dag_id,
        active.task_id,
        COUNT(*) AS used
    FROM active
    GROUP BY
        active.dag_id,
        active.task_id
),
used_by_task_in_run AS (
    SELECT
        active.dag_id,
        active.run_id,
        active.task_id,
        COUNT(*) AS used
    FROM active
    GROUP BY
        active.dag_id,
        active.run_id,
        active.task_id
),
executor_limit AS (
    SELECT
        j.key AS executor,
        CAST(j.value AS BIGINT) AS free
    FROM JSONB_EACH_TEXT(CAST(:executor_slots AS JSONB)) AS j
),
judged AS (
    SELECT
        walk.dag_id,
        walk.run_id,
        walk.task_id,
        walk.map_index,
        walk.pool,
        walk.pool_slots,
        walk.executor,
        slot_pool.pool IS NULL AS no_pool,
        COALESCE(used_by_pool.used, 0) + walk.pool_taken AS pool_used,
        NULLIF(slot_pool.slots, -1) AS pool_capacity,
        COALESCE(used_by_run.used, 0) + walk.run_taken AS run_used,
        dag.max_active_tasks AS run_capacity,
        COALESCE(used_by_task.used, 0) + walk.task_taken AS task_used,
        task.max_active_tis_per_dag AS task_capacity,
        COALESCE(used_by_task_in_run.used, 0) + walk.task_in_run_taken AS task_in_run_used,
        task.max_active_tis_per_dagrun AS task_in_run_capacity,
        walk.executor_taken AS executor_used,
        executor_limit.free AS executor_capacity,
        walk.pass_taken AS pass_used,
        CAST(:max_tis AS INT) AS pass_capacity,
        COALESCE(dag.is_paused, TRUE) AS is_paused,
        COALESCE(dag_run.state = 'running', FALSE) AS is_running
    FROM walk
    LEFT OUTER JOIN dag_run
        ON dag_run.dag_id = walk.dag_id AND dag_run.run_id = walk.run_id
    LEFT OUTER JOIN dag
        ON dag.dag_id = walk.dag_id
    LEFT OUTER JOIN task
        ON task.dag_id = walk.dag_id AND task.task_id = walk.task_id
    LEFT OUTER JOIN slot_pool
        ON slot_pool.pool = walk.pool
    LEFT OUTER JOIN used_by_pool
        ON used_by_pool.pool = walk.pool
    LEFT OUTER JOIN used_by_run
        ON used_by_run.dag_id = walk.dag_id
        AND used_by_run.run_id = walk.run_id
    LEFT OUTER JOIN used_by_task
        ON used_by_task.dag_id = walk.dag_id
        AND used_by_task.task_id = walk.task_id
    LEFT OUTER JOIN used_by_task_in_run
        ON used_by_task_in_run.dag_id = walk.dag_id
        AND used_by_task_in_run.run_id = walk.run_id
        AND used_by_task_in_run.task_id = walk.task_id
    LEFT OUTER JOIN executor_limit
        ON executor_limit.executor = walk.executor
    WHERE
        NOT walk.starts
)
SELECT
    judged.dag_id,
    judged.run_id,
    judged.task_id,
    judged.map_index,
    judged.pool,
    judged.pool_slots,
    reason.limit_name,
    reason.holder,
    reason.used,
    reason.capacity,
    reason.never
FROM judged
JOIN LATERAL (
    SELECT
        'paused' AS limit_name,
        JSONB_BUILD_ARRAY(judged.dag_id) AS holder,
        CAST(NULL AS INT) AS used,
        CAST(NULL AS INT) AS capacity,
        FALSE AS never
    WHERE
        judged.is_paused
    UNION ALL
    SELECT
        'dag_run_state' AS limit_name,
        JSONB_BUILD_ARRAY(judged.dag_id, judged.run_id) AS holder,
        CAST(NULL AS INT) AS used,
        CAST(NULL AS INT) AS capacity,
        FALSE AS never
    WHERE
        NOT judged.is_running
    UNION ALL
    SELECT
        'no_pool' AS limit_name,
        JSONB_BUILD_ARRAY(judged.pool) AS holder,
        CAST(NULL AS INT) AS used,
        CAST(NULL AS INT) AS capacity,
        TRUE AS never
    WHERE
        NOT judged.is_paused AND judged.is_running AND judged.no_pool
    UNION ALL
    SELECT
        'pool' AS limit_name,
        JSONB_BUILD_ARRAY(judged.pool) AS holder,
        judged.pool_used AS used,
        judged.pool_capacity AS capacity,
        judged.pool_slots > judged.pool_capacity AS never
    WHERE
        NOT judged.is_paused
        AND judged.is_running
        AND judged.pool_used + judged.pool_slots > judged.pool_capacity
    UNION ALL
    SELECT
        'max_active_tasks' AS limit_name,
        JSONB_BUILD_ARRAY(judged.dag_id, judged.run_id) AS holder,
        judged.run_used AS used,
        judged.run_capacity AS capacity,
        judged.run_capacity <= 0 AS never
    WHERE
        NOT judged.is_paused
        AND judged.is_running
        AND judged.run_capacity <= judged.run_used
    UNION ALL
    SELECT
        'max_active_tis_per_dag' AS limit_name,
        JSONB_BUILD_ARRAY(judged.dag_id, judged.task_id) AS holder,
        judged.task_used AS used,
        judged.task_capacity AS capacity,
        judged.task_capacity <= 0 AS never
    WHERE
        NOT judged.is_paused
        AND judged.is_running
        AND judged.task_capacity <= judged.task_used
    UNION ALL
    SELECT
        'max_active_tis_per_dagrun' AS limit_name,
        JSONB_BUILD_ARRAY(judged.dag_id, judged.run_id, judged.task_id) AS holder,
        judged.task_in_run_used AS used,
        judged.task_in_run_capacity AS capacity,
        judged.task_in_run_capacity <= 0 AS never
    WHERE
        NOT judged.is_paused
        AND judged.is_running
        AND judged.task_in_run_capacity <= judged.task_in_run_used
    UNION ALL
    SELECT
        'executor' AS limit_name,
        JSONB_BUILD_ARRAY(judged.executor) AS holder,
        judged.executor_used AS used,
        judged.executor_capacity AS capacity,
        FALSE AS never
    WHERE
        NOT judged.is_paused
        AND judged.is_running
        AND judged.executor_used >= judged.executor_capacity
    UNION ALL
    SELECT
        'max_tis' AS limit_name,
        JSONB_BUILD_ARRAY() AS holder,
        judged.pass_used AS used,
        judged.pass_capacity AS capacity,
        FALSE AS never
    WHERE
        NOT judged.is_paused
        AND judged.is_running
        AND judged.pass_used >= judged.pass_capacity
) AS reason
    ON TRUE
ORDER BY
    judged.dag_id,
    judged.run_id,
    judged.task_id,
    judged.map_index,
    reason.limit_name
