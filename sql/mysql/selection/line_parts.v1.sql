-- name: selection/line_parts
-- version: 1
-- purpose: Where lines go on behind task instances that limits stop: the groups in between that may start, and the end.
-- result: rows
-- param lines: json; as selection/select_executable takes them
-- param admitted: json; as selection/select_executable takes it
-- param hops: integer; most groups to look at in each line, at least 1, below the server's cte_max_recursion_depth
-- column part: json; [pool, free slots, priority_weight, undated, logical_date, dag_id, run_id, task_id or null]
-- column is_open: boolean; a group of task instances that may start
-- column is_last: boolean; the last one looked at: behind it the line is not known
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: max_active_tasks counts queued and running per dag run; the task limits count queued, running and deferred
-- server: 8.4
-- engine: mysql only: the walk of PostgreSQL passes over them itself
-- origin: hand-written: each hop is one look into the index, whatever the number of rows that it passes over

WITH RECURSIVE
line AS (
    SELECT
        j.pool COLLATE utf8mb4_0900_bin AS pool,
        j.pool_free,
        LEFT(UNHEX(SHA2(j.pool, 256)), 16) AS scheduled_pool,
        COALESCE(j.priority_weight, 2147483648) AS priority_weight,
        COALESCE(j.undated, 0) AS undated,
        j.logical_date,
        j.dag_id COLLATE utf8mb4_0900_bin AS dag_id,
        j.run_id COLLATE utf8mb4_0900_bin AS run_id,
        j.task_id COLLATE utf8mb4_0900_bin AS task_id
    FROM JSON_TABLE(:lines, '$[*]' COLUMNS (
        pool VARCHAR(256) PATH '$[0]',
        pool_free BIGINT PATH '$[1]',
        priority_weight BIGINT PATH '$[2]',
        undated TINYINT PATH '$[3]',
        logical_date DATETIME(6) PATH '$[4]',
        dag_id VARCHAR(250) PATH '$[5]',
        run_id VARCHAR(250) PATH '$[6]',
        task_id VARCHAR(250) PATH '$[7]'
    )) AS j
),
admitted AS (
    SELECT
        CRC32(CONCAT_WS('/', dag_id, run_id)) AS run_hash,
        CRC32(CONCAT_WS('/', dag_id, task_id)) AS task_hash,
        dag_id COLLATE utf8mb4_0900_bin AS dag_id,
        run_id COLLATE utf8mb4_0900_bin AS run_id,
        task_id COLLATE utf8mb4_0900_bin AS task_id
    FROM JSON_TABLE(:admitted, '$[*]' COLUMNS (
        dag_id VARCHAR(250) PATH '$[0]',
        run_id VARCHAR(250) PATH '$[1]',
        task_id VARCHAR(250) PATH '$[2]'
    )) AS j
),
-- One hop leads to the next group, a task in a run; behind a run that can start nothing, to the next run (task_id is
-- NULL then). It ends behind three open groups in a row: from there it is better to read row by row.
hop AS (
    SELECT 0 AS hops, 0 AS open_in_a_row, FALSE AS is_open, line.*
    FROM line

    UNION ALL

    SELECT
        hop.hops + 1,
        IF(room.run_free > 0 AND room.task_free > 0, hop.open_in_a_row + 1, 0),
        room.run_free > 0 AND room.task_free > 0,
        hop.pool, hop.pool_free, hop.scheduled_pool, next_row.priority_weight, next_row.undated,
        next_row.logical_date, next_row.dag_id, next_row.run_id, IF(room.run_free > 0, next_row.task_id, NULL)
    FROM hop
    JOIN LATERAL (
        -- A row behind, nearly always the next: a range of the index, planned anew for each hop and not sorted. The
        -- same pool under two names keeps MySQL from reading the whole line by its pool alone.
        SELECT /*+ JOIN_FIXED_ORDER() INDEX(ti ix_task_instance_selection) NO_MRR(ti) */
            ti.priority_weight, ti.undated, ti.logical_date, ti.dag_id, ti.run_id, ti.task_id, ti.map_index
        FROM (
            SELECT
                hop.scheduled_pool, hop.scheduled_pool AS same_pool, hop.priority_weight, hop.undated,
                hop.logical_date, hop.dag_id, hop.run_id, hop.task_id
            LIMIT 1
        ) AS mark
        JOIN task_instance AS ti ON (
                ti.scheduled_pool BETWEEN mark.scheduled_pool AND mark.same_pool
                AND ti.priority_weight < mark.priority_weight
            ) OR (
                ti.scheduled_pool = mark.scheduled_pool AND ti.priority_weight = mark.priority_weight
                AND ti.undated > mark.undated
            ) OR (
                ti.scheduled_pool = mark.scheduled_pool AND ti.priority_weight = mark.priority_weight
                AND ti.undated = mark.undated AND ti.logical_date > mark.logical_date
            ) OR (
                ti.scheduled_pool = mark.scheduled_pool AND ti.priority_weight = mark.priority_weight
                AND ti.undated = mark.undated AND ti.logical_date <=> mark.logical_date AND ti.dag_id > mark.dag_id
            ) OR (
                ti.scheduled_pool = mark.scheduled_pool AND ti.priority_weight = mark.priority_weight
                AND ti.undated = mark.undated AND ti.logical_date <=> mark.logical_date AND ti.dag_id = mark.dag_id
                AND ti.run_id > mark.run_id
            ) OR (
                ti.scheduled_pool = mark.scheduled_pool AND ti.priority_weight = mark.priority_weight
                AND ti.undated = mark.undated AND ti.logical_date <=> mark.logical_date AND ti.dag_id = mark.dag_id
                AND ti.run_id = mark.run_id AND ti.task_id > mark.task_id
            )
        LIMIT 1
    ) AS reached
    JOIN LATERAL (
        -- The next row, for sure: MySQL may have read the table instead, in another order. Of what lies behind the
        -- mark and not behind that row, which is one row if not, it sorts the first out.
        SELECT /*+ JOIN_FIXED_ORDER() INDEX(ti ix_task_instance_selection) NO_MRR(ti) */
            ti.priority_weight, ti.undated, ti.logical_date, ti.dag_id, ti.run_id, ti.task_id
        FROM (
            SELECT
                hop.scheduled_pool, hop.scheduled_pool AS same_pool, hop.priority_weight, hop.undated,
                hop.logical_date, hop.dag_id, hop.run_id, hop.task_id,
                reached.priority_weight AS end_priority_weight, reached.undated AS end_undated,
                reached.logical_date AS end_logical_date, reached.dag_id AS end_dag_id, reached.run_id AS end_run_id,
                reached.task_id AS end_task_id, reached.map_index AS end_map_index
            LIMIT 1
        ) AS mark
        JOIN task_instance AS ti ON (
            (
                (
                    ti.scheduled_pool BETWEEN mark.scheduled_pool AND mark.same_pool
                    AND ti.priority_weight < mark.priority_weight
                ) OR (
                    ti.scheduled_pool = mark.scheduled_pool AND ti.priority_weight = mark.priority_weight
                    AND ti.undated > mark.undated
                ) OR (
                    ti.scheduled_pool = mark.scheduled_pool AND ti.priority_weight = mark.priority_weight
                    AND ti.undated = mark.undated AND ti.logical_date > mark.logical_date
                ) OR (
                    ti.scheduled_pool = mark.scheduled_pool AND ti.priority_weight = mark.priority_weight
                    AND ti.undated = mark.undated AND ti.logical_date <=> mark.logical_date AND ti.dag_id > mark.dag_id
                ) OR (
                    ti.scheduled_pool = mark.scheduled_pool AND ti.priority_weight = mark.priority_weight
                    AND ti.undated = mark.undated AND ti.logical_date <=> mark.logical_date AND ti.dag_id = mark.dag_id
                    AND ti.run_id > mark.run_id
                ) OR (
                    ti.scheduled_pool = mark.scheduled_pool AND ti.priority_weight = mark.priority_weight
                    AND ti.undated = mark.undated AND ti.logical_date <=> mark.logical_date AND ti.dag_id = mark.dag_id
                    AND ti.run_id = mark.run_id AND ti.task_id > mark.task_id
                )
            ) AND (
                ti.priority_weight > mark.end_priority_weight OR (
                    ti.priority_weight = mark.end_priority_weight AND ti.undated < mark.end_undated
                ) OR (
                    ti.priority_weight = mark.end_priority_weight AND ti.undated = mark.end_undated
                    AND ti.logical_date < mark.end_logical_date
                ) OR (
                    ti.priority_weight = mark.end_priority_weight AND ti.undated = mark.end_undated
                    AND ti.logical_date <=> mark.end_logical_date AND ti.dag_id < mark.end_dag_id
                ) OR (
                    ti.priority_weight = mark.end_priority_weight AND ti.undated = mark.end_undated
                    AND ti.logical_date <=> mark.end_logical_date AND ti.dag_id = mark.end_dag_id
                    AND ti.run_id < mark.end_run_id
                ) OR (
                    ti.priority_weight = mark.end_priority_weight AND ti.undated = mark.end_undated
                    AND ti.logical_date <=> mark.end_logical_date AND ti.dag_id = mark.end_dag_id
                    AND ti.run_id = mark.end_run_id AND ti.task_id < mark.end_task_id
                ) OR (
                    ti.priority_weight = mark.end_priority_weight AND ti.undated = mark.end_undated
                    AND ti.logical_date <=> mark.end_logical_date AND ti.dag_id = mark.end_dag_id
                    AND ti.run_id = mark.end_run_id AND ti.task_id = mark.end_task_id
                    AND ti.map_index <= mark.end_map_index
                )
            )
        )
        ORDER BY
            ti.scheduled_pool, ti.priority_weight DESC, ti.undated, ti.logical_date,
            ti.dag_id, ti.run_id, ti.task_id, ti.map_index
        LIMIT 1
    ) AS next_row
    JOIN LATERAL (
        SELECT
            IF(r.state = 'running' AND NOT d.is_paused, d.max_active_tasks - (
                SELECT /*+ INDEX(ti ix_task_instance_holders) */ COUNT(*)
                FROM task_instance AS ti
                WHERE ti.active = 1 AND ti.dag_id = r.dag_id AND ti.run_id = r.run_id AND NOT ti.deferred
            ) - (
                SELECT COUNT(*)
                FROM admitted AS a
                WHERE
                    a.run_hash = CRC32(CONCAT_WS('/', r.dag_id, r.run_id))
                    AND STRCMP(a.dag_id, r.dag_id) = 0 AND STRCMP(a.run_id, r.run_id) = 0
            ), 0) AS run_free,
            LEAST(
                IF(t.max_active_tis_per_dag IS NULL, 1, t.max_active_tis_per_dag - (
                    SELECT /*+ INDEX(ti ix_task_instance_holders) */ COUNT(*)
                    FROM task_instance AS ti
                    WHERE ti.active = 1 AND ti.dag_id = t.dag_id AND ti.task_id = t.task_id
                ) - (
                    SELECT COUNT(*)
                    FROM admitted AS a
                    WHERE
                        a.task_hash = CRC32(CONCAT_WS('/', t.dag_id, t.task_id))
                        AND STRCMP(a.dag_id, t.dag_id) = 0 AND STRCMP(a.task_id, t.task_id) = 0
                )),
                IF(t.max_active_tis_per_dagrun IS NULL, 1, t.max_active_tis_per_dagrun - (
                    SELECT /*+ INDEX(ti ix_task_instance_holders) */ COUNT(*)
                    FROM task_instance AS ti
                    WHERE ti.active = 1 AND ti.dag_id = t.dag_id AND ti.run_id = r.run_id AND ti.task_id = t.task_id
                ) - (
                    SELECT COUNT(*)
                    FROM admitted AS a
                    WHERE
                        a.run_hash = CRC32(CONCAT_WS('/', r.dag_id, r.run_id))
                        AND STRCMP(a.dag_id, r.dag_id) = 0 AND STRCMP(a.run_id, r.run_id) = 0
                        AND STRCMP(a.task_id, t.task_id) = 0
                ))
            ) AS task_free
        FROM dag_run AS r
        JOIN dag AS d ON d.dag_id = r.dag_id
        LEFT JOIN task AS t ON t.dag_id = r.dag_id AND t.task_id = next_row.task_id
        WHERE r.dag_id = next_row.dag_id AND r.run_id = next_row.run_id
    ) AS room
    WHERE hop.hops < :hops AND hop.open_in_a_row < 3
),
placed AS (
    SELECT hop.*, ROW_NUMBER() OVER (PARTITION BY pool ORDER BY hops DESC ROWS UNBOUNDED PRECEDING) = 1 AS is_last
    FROM hop
    WHERE hops > 0
)
SELECT
    JSON_ARRAY(pool, pool_free, priority_weight, undated, logical_date, dag_id, run_id, task_id) AS part,
    is_open,
    is_last
FROM placed
WHERE is_open OR is_last
