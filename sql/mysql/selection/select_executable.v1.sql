-- name: selection/select_executable
-- version: 1
-- purpose: The candidates that may start now: exact greedy in the total order (policy "strict").
-- result: rows, in order
-- param max_tis: integer; most task instances to admit in the pass, at least 1
-- param executor_slots: json; {"executor": free slots}, "" being the default executor; one not named is unlimited
-- param lines: json; [[pool, free slots or null], ...] as selection/lines returned them, or with the place behind which
--   to read: [pool, free, priority_weight, undated, logical_date, dag_id, run_id, task_id or null = behind the run]
-- param groups: json; [[pool, free, priority_weight, undated, logical_date, dag_id, run_id, task_id], ...] to be read
--   besides, [] at first; as are the places in lines, from selection/line_parts
-- param page: integer; rows to read of each line, at least 2
-- param room: integer; rows to keep of a line for each free slot of its pool, at least 1
-- param depth: integer; rows to read of each group, at least 2
-- param per_slot: integer; rows to keep of a run, or of a task in it, for each that may start there, at least 1
-- param reach: integer; rows to look at, at least 2: the first ones of all that was read
-- param admitted: json; [[dag_id, run_id, task_id], ...] what calls before this one returned, [] at first: it uses what
--   its run and task have free. What it uses of its pool and executor is left out of lines, groups and executor_slots
-- param after_priority_weight: integer; where to go on: behind the last row that was returned, 2147483648 at first
-- param after_undated: integer; of that row: 1 without a logical date, otherwise 0
-- param after_logical_date: timestamp; of that row
-- param after_dag_id: text; of that row
-- param after_run_id: text; of that row
-- param after_task_id: text; of that row
-- param after_map_index: integer; of that row
-- column dag_id: text; NULL in a row that only says more
-- column run_id: text; NULL with more if lines have to be read on
-- column task_id: text
-- column map_index: integer
-- column logical_date: timestamp; of the dag run, NULL comes last
-- column priority_weight: integer
-- column pool: text; NULL with more if a candidate is undecided
-- column pool_slots: integer; slots it takes
-- column executor: text; NULL = the default executor
-- column pool_free: integer; slots free at its place in the walk, before it takes its own; NULL = unlimited
-- column run_free: integer; of max_active_tasks, likewise
-- column task_free: integer; of max_active_tis_per_dag, likewise
-- column task_in_run_free: integer; of max_active_tis_per_dagrun, likewise
-- column executor_free: integer; of the executor's slots, likewise
-- column more: boolean; candidates are left that this call did not decide. Go on behind what was returned; if that is
--   nothing, with larger page, room, depth, reach and per_slot
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: a pool takes pool_slots of queued and running, and of deferred if include_deferred; max_active_tasks counts
--   queued and running per dag run; the task limits count queued, running and deferred.
-- server: 8.4
-- origin: hand-written: a recursive query may not use windows here, so six rounds are unrolled and the caller repeats

WITH
-- 1. The head of each line: its first rows, or those behind a given place; and the first rows of given groups. The last
--    row of a full page ends what is known of its line or group.
line AS (
    SELECT
        0 AS part,
        j.pool COLLATE utf8mb4_0900_bin AS pool,
        j.pool_free,
        LEFT(UNHEX(SHA2(j.pool, 256)), 16) AS scheduled_pool,
        LEFT(UNHEX(SHA2(j.pool, 256)), 16) AS same_pool,
        j.priority_weight, j.undated, j.logical_date,
        j.dag_id COLLATE utf8mb4_0900_bin AS dag_id,
        j.run_id COLLATE utf8mb4_0900_bin AS run_id,
        j.task_id COLLATE utf8mb4_0900_bin AS task_id
    FROM JSON_TABLE(:lines, '$[*]' COLUMNS (
        pool VARCHAR(256) PATH '$[0]',
        pool_free BIGINT PATH '$[1]',
        priority_weight INT PATH '$[2]',
        undated TINYINT PATH '$[3]',
        logical_date DATETIME(6) PATH '$[4]',
        dag_id VARCHAR(250) PATH '$[5]',
        run_id VARCHAR(250) PATH '$[6]',
        task_id VARCHAR(250) PATH '$[7]'
    )) AS j
),
task_group AS (
    SELECT
        j.part,
        j.pool COLLATE utf8mb4_0900_bin AS pool,
        j.pool_free,
        LEFT(UNHEX(SHA2(j.pool, 256)), 16) AS scheduled_pool,
        j.priority_weight, j.undated, j.logical_date,
        j.dag_id COLLATE utf8mb4_0900_bin AS dag_id,
        j.run_id COLLATE utf8mb4_0900_bin AS run_id,
        j.task_id COLLATE utf8mb4_0900_bin AS task_id
    FROM JSON_TABLE(:groups, '$[*]' COLUMNS (
        part FOR ORDINALITY,
        pool VARCHAR(256) PATH '$[0]',
        pool_free BIGINT PATH '$[1]',
        priority_weight INT PATH '$[2]',
        undated TINYINT PATH '$[3]',
        logical_date DATETIME(6) PATH '$[4]',
        dag_id VARCHAR(250) PATH '$[5]',
        run_id VARCHAR(250) PATH '$[6]',
        task_id VARCHAR(250) PATH '$[7]'
    )) AS j
    -- Those that lie wholly before the place are left out, however long they are.
    WHERE
        j.priority_weight < :after_priority_weight OR (
            j.priority_weight = :after_priority_weight AND (
                j.undated > :after_undated OR (
                    j.undated = :after_undated AND (
                        j.logical_date > :after_logical_date OR (
                            j.logical_date <=> :after_logical_date
                            AND (
                                j.dag_id COLLATE utf8mb4_0900_bin, j.run_id COLLATE utf8mb4_0900_bin,
                                j.task_id COLLATE utf8mb4_0900_bin
                            ) >= (:after_dag_id, :after_run_id, :after_task_id)
                        )
                    )
                )
            )
        )
),
head AS (
    SELECT line.part, line.pool, line.pool_free, page.*
    FROM line
    JOIN LATERAL (
        SELECT /*+ INDEX(ti ix_task_instance_selection) */
            ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.undated, ti.logical_date, ti.priority_weight,
            ti.pool_slots
        FROM task_instance AS ti
        WHERE ti.scheduled_pool = line.scheduled_pool AND (
            ti.priority_weight < :after_priority_weight OR (
                ti.priority_weight = :after_priority_weight AND (
                    ti.undated > :after_undated OR (
                        ti.undated = :after_undated AND (
                            ti.logical_date > :after_logical_date OR (
                                ti.logical_date <=> :after_logical_date
                                AND (ti.dag_id, ti.run_id, ti.task_id, ti.map_index)
                                > (:after_dag_id, :after_run_id, :after_task_id, :after_map_index)
                            )
                        )
                    )
                )
            )
        )
        -- The whole index prefix, constants included: else MySQL sorts every row of the pool.
        ORDER BY
            ti.scheduled_pool, ti.priority_weight DESC, ti.undated, ti.logical_date,
            ti.dag_id, ti.run_id, ti.task_id, ti.map_index
        LIMIT :page
    ) AS page
    WHERE line.priority_weight IS NULL

    UNION ALL

    SELECT line.part, line.pool, line.pool_free, page.*
    FROM line
    JOIN LATERAL (
        SELECT found.*
        FROM (
            -- As many rows behind, nearly always the next: a range of the index, planned anew for each line and not
            -- sorted. The same pool under two names keeps MySQL from reading the whole line by its pool alone.
            SELECT /*+ JOIN_FIXED_ORDER() INDEX(ti ix_task_instance_selection) NO_MRR(ti) */
                ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.undated, ti.logical_date, ti.priority_weight
            FROM (
                SELECT
                    line.scheduled_pool, line.same_pool, line.priority_weight, line.undated, line.logical_date,
                    line.dag_id, line.run_id, line.task_id
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
            WHERE
                ti.priority_weight < :after_priority_weight OR (
                    ti.priority_weight = :after_priority_weight AND (
                        ti.undated > :after_undated OR (
                            ti.undated = :after_undated AND (
                                ti.logical_date > :after_logical_date OR (
                                    ti.logical_date <=> :after_logical_date
                                    AND (ti.dag_id, ti.run_id, ti.task_id, ti.map_index)
                                    > (:after_dag_id, :after_run_id, :after_task_id, :after_map_index)
                                )
                            )
                        )
                    )
                )
            LIMIT :page
        ) AS found
        ORDER BY
            found.priority_weight, found.undated DESC, found.logical_date DESC,
            found.dag_id DESC, found.run_id DESC, found.task_id DESC, found.map_index DESC
        LIMIT 1
    ) AS reached
    JOIN LATERAL (
        -- The next rows, for sure: MySQL may have read the table instead, in another order. Of what lies behind the
        -- mark and not behind the last of those rows, which is just these if not, it sorts the first out.
        SELECT /*+ JOIN_FIXED_ORDER() INDEX(ti ix_task_instance_selection) NO_MRR(ti) */
            ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.undated, ti.logical_date, ti.priority_weight,
            ti.pool_slots
        FROM (
            SELECT
                line.scheduled_pool, line.same_pool, line.priority_weight, line.undated, line.logical_date,
                line.dag_id, line.run_id, line.task_id,
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
        WHERE
            ti.priority_weight < :after_priority_weight OR (
                ti.priority_weight = :after_priority_weight AND (
                    ti.undated > :after_undated OR (
                        ti.undated = :after_undated AND (
                            ti.logical_date > :after_logical_date OR (
                                ti.logical_date <=> :after_logical_date
                                AND (ti.dag_id, ti.run_id, ti.task_id, ti.map_index)
                                > (:after_dag_id, :after_run_id, :after_task_id, :after_map_index)
                            )
                        )
                    )
                )
            )
        ORDER BY
            ti.scheduled_pool, ti.priority_weight DESC, ti.undated, ti.logical_date,
            ti.dag_id, ti.run_id, ti.task_id, ti.map_index
        LIMIT :page
    ) AS page
    WHERE line.priority_weight IS NOT NULL

    UNION ALL

    SELECT g.part, g.pool, g.pool_free, page.*
    FROM task_group AS g
    JOIN LATERAL (
        SELECT /*+ INDEX(ti ix_task_instance_selection) */
            ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.undated, ti.logical_date, ti.priority_weight,
            ti.pool_slots
        FROM task_instance AS ti
        WHERE
            ti.scheduled_pool = g.scheduled_pool AND ti.priority_weight = g.priority_weight
            AND ti.undated = g.undated AND ti.logical_date <=> g.logical_date
            AND ti.dag_id = g.dag_id AND ti.run_id = g.run_id AND ti.task_id = g.task_id
            AND (
                ti.priority_weight < :after_priority_weight OR (
                    ti.priority_weight = :after_priority_weight AND (
                        ti.undated > :after_undated OR (
                            ti.undated = :after_undated AND (
                                ti.logical_date > :after_logical_date OR (
                                    ti.logical_date <=> :after_logical_date
                                    AND (ti.dag_id, ti.run_id, ti.task_id, ti.map_index)
                                    > (:after_dag_id, :after_run_id, :after_task_id, :after_map_index)
                                )
                            )
                        )
                    )
                )
            )
        ORDER BY
            ti.scheduled_pool, ti.priority_weight DESC, ti.undated, ti.logical_date,
            ti.dag_id, ti.run_id, ti.task_id, ti.map_index
        LIMIT :depth
    ) AS page
),
ahead AS (
    SELECT
        head.*,
        IF(part > 0, :depth, COALESCE(LEAST(:page, 1 + :room * pool_free), :page)) AS line_length,
        ROW_NUMBER() OVER (
            PARTITION BY pool, part
            ORDER BY priority_weight DESC, undated, logical_date, dag_id, run_id, task_id, map_index
            ROWS UNBOUNDED PRECEDING
        ) AS nth_in_line
    FROM head
),

admitted AS (
    SELECT
        dag_id COLLATE utf8mb4_0900_bin AS dag_id,
        run_id COLLATE utf8mb4_0900_bin AS run_id,
        task_id COLLATE utf8mb4_0900_bin AS task_id
    FROM JSON_TABLE(:admitted, '$[*]' COLUMNS (
        dag_id VARCHAR(250) PATH '$[0]',
        run_id VARCHAR(250) PATH '$[1]',
        task_id VARCHAR(250) PATH '$[2]'
    )) AS j
),
-- MySQL can't key a temporary table by ids this long, so these are looked up by a short hash; STRCMP compares the ids.
admitted_in_run AS (
    SELECT CRC32(CONCAT_WS('/', dag_id, run_id)) AS hash, dag_id, run_id, COUNT(*) AS admitted
    FROM admitted
    GROUP BY dag_id, run_id
),
admitted_of_task AS (
    SELECT CRC32(CONCAT_WS('/', dag_id, task_id)) AS hash, dag_id, task_id, COUNT(*) AS admitted
    FROM admitted
    GROUP BY dag_id, task_id
),
admitted_of_task_in_run AS (
    SELECT CRC32(CONCAT_WS('/', dag_id, run_id, task_id)) AS hash, dag_id, run_id, task_id, COUNT(*) AS admitted
    FROM admitted
    GROUP BY dag_id, run_id, task_id
),

-- 2. Of the rows of one pool, one task in a run, or one run, only so many are kept as its limit could start, and some
--    more; none if it is full. The row behind those ends what is known there. What a holder has free is looked up at
--    the first row that needs it, and handed on to the others.
in_line AS (
    SELECT
        ahead.*,
        nth_in_line = line_length AS ends_line,
        ROW_NUMBER() OVER (
            ORDER BY priority_weight DESC, undated, logical_date, dag_id, run_id, task_id, map_index
        ) AS place
    FROM ahead
    WHERE nth_in_line <= line_length
),
of_task AS (
    SELECT
        in_line.*,
        place = :reach AS ends_reach,
        ROW_NUMBER() OVER (PARTITION BY dag_id, run_id, task_id ORDER BY place ROWS UNBOUNDED PRECEDING) AS nth_of_task
    FROM in_line
    WHERE place <= :reach
),
with_task AS (
    SELECT /*+ JOIN_FIXED_ORDER() NO_BNL() */
        l.*,
        SUM(IF(t.max_active_tis_per_dag IS NULL, NULL, t.max_active_tis_per_dag - (
            SELECT /*+ INDEX(ti ix_task_instance_holders) */ COUNT(*)
            FROM task_instance AS ti
            WHERE ti.active = 1 AND ti.dag_id = l.dag_id AND ti.task_id = l.task_id
        ) - COALESCE(a.admitted, 0))) OVER by_task AS task_free,
        SUM(IF(t.max_active_tis_per_dagrun IS NULL, NULL, t.max_active_tis_per_dagrun - (
            SELECT /*+ INDEX(ti ix_task_instance_holders) */ COUNT(*)
            FROM task_instance AS ti
            WHERE ti.active = 1 AND ti.dag_id = l.dag_id AND ti.run_id = l.run_id AND ti.task_id = l.task_id
        ) - COALESCE(b.admitted, 0))) OVER by_task AS task_in_run_free
    FROM of_task AS l
    LEFT JOIN task AS t ON l.nth_of_task = 1 AND t.dag_id = l.dag_id AND t.task_id = l.task_id
    LEFT JOIN admitted_of_task AS a
        ON l.nth_of_task = 1 AND a.hash = CRC32(CONCAT_WS('/', l.dag_id, l.task_id))
        AND STRCMP(a.dag_id, l.dag_id) = 0 AND STRCMP(a.task_id, l.task_id) = 0
    LEFT JOIN admitted_of_task_in_run AS b
        ON l.nth_of_task = 1 AND b.hash = CRC32(CONCAT_WS('/', l.dag_id, l.run_id, l.task_id))
        AND STRCMP(b.dag_id, l.dag_id) = 0 AND STRCMP(b.run_id, l.run_id) = 0 AND STRCMP(b.task_id, l.task_id) = 0
    WINDOW by_task AS (PARTITION BY l.dag_id, l.run_id, l.task_id ORDER BY l.place ROWS UNBOUNDED PRECEDING)
),
of_run AS (
    SELECT
        l.*,
        COALESCE(l.nth_of_task = 1 + :per_slot * l.free, FALSE) AS ends_task,
        ROW_NUMBER() OVER (PARTITION BY l.dag_id, l.run_id ORDER BY l.place ROWS UNBOUNDED PRECEDING) AS nth_of_run
    FROM (
        SELECT
            with_task.*,
            COALESCE(LEAST(task_free, task_in_run_free), task_free, task_in_run_free) AS free
        FROM with_task
    ) AS l
    WHERE
        l.free IS NULL OR (l.free > 0 AND l.nth_of_task <= 1 + :per_slot * l.free)
        OR l.ends_line OR l.ends_reach
),
with_run AS (
    SELECT /*+ JOIN_FIXED_ORDER() NO_BNL() */
        l.*,
        SUM(IF(r.state = 'running' AND NOT d.is_paused, d.max_active_tasks - (
            SELECT /*+ INDEX(ti ix_task_instance_holders) */ COUNT(*)
            FROM task_instance AS ti
            WHERE ti.active = 1 AND ti.dag_id = l.dag_id AND ti.run_id = l.run_id AND NOT ti.deferred
        ) - COALESCE(a.admitted, 0), IF(l.nth_of_run = 1, 0, NULL))) OVER by_run AS run_free
    FROM of_run AS l
    LEFT JOIN dag_run AS r ON l.nth_of_run = 1 AND r.dag_id = l.dag_id AND r.run_id = l.run_id
    LEFT JOIN dag AS d ON d.dag_id = r.dag_id
    LEFT JOIN admitted_in_run AS a
        ON l.nth_of_run = 1 AND a.hash = CRC32(CONCAT_WS('/', l.dag_id, l.run_id))
        AND STRCMP(a.dag_id, l.dag_id) = 0 AND STRCMP(a.run_id, l.run_id) = 0
    WINDOW by_run AS (PARTITION BY l.dag_id, l.run_id ORDER BY l.place ROWS UNBOUNDED PRECEDING)
),

-- 3. What else is to be known of what is kept.
kept AS (
    SELECT with_run.*, nth_of_run = 1 + :per_slot * run_free AS ends_run
    FROM with_run
    WHERE (run_free > 0 AND nth_of_run <= 1 + :per_slot * run_free) OR ends_line OR ends_reach
),
executor_limit AS (
    SELECT
        name.executor COLLATE utf8mb4_0900_bin AS executor,
        CAST(JSON_EXTRACT(:executor_slots, CONCAT('$.', JSON_QUOTE(name.executor))) AS SIGNED) AS free
    FROM JSON_TABLE(JSON_KEYS(:executor_slots), '$[*]' COLUMNS (
        executor VARCHAR(250) PATH '$'
    )) AS name
),
looked_up AS (
    -- The hints hold the one good plan whatever the statistics: row by row, each looked up by key.
    SELECT /*+ JOIN_FIXED_ORDER() NO_BNL() */
        l.place, l.ends_line, l.ends_task, l.ends_run, l.part > 0 AS is_group,
        l.ends_reach,
        l.run_free > 0 AND NOT (l.ends_line OR l.ends_task OR l.ends_run OR l.ends_reach) AS is_candidate,
        l.dag_id, l.run_id, l.task_id, l.map_index, l.logical_date, l.priority_weight, l.pool, l.pool_slots,
        COALESCE(ti.executor, '') AS executor,
        l.pool_free, l.run_free, l.task_free, l.task_in_run_free, e.free AS executor_free
    FROM kept AS l
    JOIN task_instance AS ti
        ON ti.dag_id = l.dag_id AND ti.run_id = l.run_id AND ti.task_id = l.task_id AND ti.map_index = l.map_index
    LEFT JOIN executor_limit AS e ON STRCMP(e.executor, COALESCE(ti.executor, '')) = 0
    -- No fewer than there are: a LIMIT keeps MySQL from merging this into each place that reads it.
    LIMIT :reach
),

-- 4. What each row needs: one row for each limit that it meets. up: what is taken of a holder if every candidate up to
--    and with this one starts; demand: if all do. holder: the place of its first row, short to sort by.
need AS (
    SELECT
        l.place, l.ends_line, l.is_group, l.ends_task, l.ends_run, l.ends_reach, l.is_candidate, k.kind,
        CASE k.kind WHEN 'pool' THEN l.pool WHEN 'executor' THEN l.executor ELSE l.dag_id END AS name,
        IF(k.kind IN ('run', 'task in run'), l.run_id, '') AS run_id,
        IF(k.kind IN ('task', 'task in run'), l.task_id, '') AS task_id,
        IF(k.kind = 'pool', l.pool_slots, 1) AS weight,
        CASE k.kind
            WHEN 'pool' THEN l.pool_free
            WHEN 'run' THEN l.run_free
            WHEN 'task' THEN l.task_free
            WHEN 'task in run' THEN l.task_in_run_free
            ELSE l.executor_free
        END AS free
    FROM looked_up AS l
    CROSS JOIN (
        VALUES ROW('pool'), ROW('run'), ROW('task'), ROW('task in run'), ROW('executor')
    ) AS k (kind)
    HAVING free IS NOT NULL
),
summed AS (
    SELECT
        place, ends_line, is_group, ends_task, ends_run, ends_reach, is_candidate, kind, weight, free,
        FIRST_VALUE(place) OVER by_holder AS holder,
        SUM(IF(is_candidate, weight, 0)) OVER by_holder AS up
    FROM need
    WINDOW by_holder AS (PARTITION BY kind, name, run_id, task_id ORDER BY place ROWS UNBOUNDED PRECEDING)
),
demanded AS (
    SELECT summed.*, FIRST_VALUE(up) OVER backwards AS demand
    FROM summed
    WINDOW backwards AS (PARTITION BY kind, holder ORDER BY place DESC ROWS UNBOUNDED PRECEDING)
),

-- 5. A holder that has room for all who need it stops nobody. The others are contested: their candidates are decided
--    in rounds. up: as before, but for those rejected already; taken: by those before it that surely start. It surely
--    starts if up fits all its holders, and surely does not if it does not fit beside what is taken. The rest goes
--    into the next round, of the same text; of a rejected one only its first row does, to tell so. Six settle nearly
--    every pass, and what is still open then is left to the next call.
round_0 AS (
    SELECT
        place,
        ROW_NUMBER() OVER (PARTITION BY place ORDER BY kind ROWS UNBOUNDED PRECEDING) = 1 AS is_first,
        kind, holder, weight, free,
        NULL AS starts
    FROM demanded
    WHERE is_candidate AND demand > free
),
sums_1 AS (
    SELECT
        round_0.*,
        SUM(IF(starts, weight, 0)) OVER by_holder AS taken,
        SUM(IF(starts IS FALSE, 0, weight)) OVER by_holder AS up
    FROM round_0
    WHERE starts IS NOT FALSE OR is_first
    WINDOW by_holder AS (PARTITION BY kind, holder ORDER BY place ROWS UNBOUNDED PRECEDING)
),
round_1 AS (
    SELECT
        place, is_first, kind, holder, weight, free,
        COALESCE(
            starts,
            IF(MAX(up > free) OVER one = 0, TRUE, IF(MAX(taken + weight > free) OVER one, FALSE, NULL))
        ) AS starts
    FROM sums_1
    WINDOW one AS (PARTITION BY place)
),
sums_2 AS (
    SELECT
        round_1.*,
        SUM(IF(starts, weight, 0)) OVER by_holder AS taken,
        SUM(IF(starts IS FALSE, 0, weight)) OVER by_holder AS up
    FROM round_1
    WHERE starts IS NOT FALSE OR is_first
    WINDOW by_holder AS (PARTITION BY kind, holder ORDER BY place ROWS UNBOUNDED PRECEDING)
),
round_2 AS (
    SELECT
        place, is_first, kind, holder, weight, free,
        COALESCE(
            starts,
            IF(MAX(up > free) OVER one = 0, TRUE, IF(MAX(taken + weight > free) OVER one, FALSE, NULL))
        ) AS starts
    FROM sums_2
    WINDOW one AS (PARTITION BY place)
),
sums_3 AS (
    SELECT
        round_2.*,
        SUM(IF(starts, weight, 0)) OVER by_holder AS taken,
        SUM(IF(starts IS FALSE, 0, weight)) OVER by_holder AS up
    FROM round_2
    WHERE starts IS NOT FALSE OR is_first
    WINDOW by_holder AS (PARTITION BY kind, holder ORDER BY place ROWS UNBOUNDED PRECEDING)
),
round_3 AS (
    SELECT
        place, is_first, kind, holder, weight, free,
        COALESCE(
            starts,
            IF(MAX(up > free) OVER one = 0, TRUE, IF(MAX(taken + weight > free) OVER one, FALSE, NULL))
        ) AS starts
    FROM sums_3
    WINDOW one AS (PARTITION BY place)
),
sums_4 AS (
    SELECT
        round_3.*,
        SUM(IF(starts, weight, 0)) OVER by_holder AS taken,
        SUM(IF(starts IS FALSE, 0, weight)) OVER by_holder AS up
    FROM round_3
    WHERE starts IS NOT FALSE OR is_first
    WINDOW by_holder AS (PARTITION BY kind, holder ORDER BY place ROWS UNBOUNDED PRECEDING)
),
round_4 AS (
    SELECT
        place, is_first, kind, holder, weight, free,
        COALESCE(
            starts,
            IF(MAX(up > free) OVER one = 0, TRUE, IF(MAX(taken + weight > free) OVER one, FALSE, NULL))
        ) AS starts
    FROM sums_4
    WINDOW one AS (PARTITION BY place)
),
sums_5 AS (
    SELECT
        round_4.*,
        SUM(IF(starts, weight, 0)) OVER by_holder AS taken,
        SUM(IF(starts IS FALSE, 0, weight)) OVER by_holder AS up
    FROM round_4
    WHERE starts IS NOT FALSE OR is_first
    WINDOW by_holder AS (PARTITION BY kind, holder ORDER BY place ROWS UNBOUNDED PRECEDING)
),
round_5 AS (
    SELECT
        place, is_first, kind, holder, weight, free,
        COALESCE(
            starts,
            IF(MAX(up > free) OVER one = 0, TRUE, IF(MAX(taken + weight > free) OVER one, FALSE, NULL))
        ) AS starts
    FROM sums_5
    WINDOW one AS (PARTITION BY place)
),
sums_6 AS (
    SELECT
        round_5.*,
        SUM(IF(starts, weight, 0)) OVER by_holder AS taken,
        SUM(IF(starts IS FALSE, 0, weight)) OVER by_holder AS up
    FROM round_5
    WHERE starts IS NOT FALSE OR is_first
    WINDOW by_holder AS (PARTITION BY kind, holder ORDER BY place ROWS UNBOUNDED PRECEDING)
),
round_6 AS (
    SELECT
        place, is_first, kind, holder, weight, free,
        COALESCE(
            starts,
            IF(MAX(up > free) OVER one = 0, TRUE, IF(MAX(taken + weight > free) OVER one, FALSE, NULL))
        ) AS starts
    FROM sums_6
    WINDOW one AS (PARTITION BY place)
),

-- 6. How far this is final: before the first candidate that is still undecided, and before the first end of what is
--    known, unless its holder is full there: what is not known may come next.
contested AS (
    SELECT place, MAX(starts) AS starts
    FROM round_6
    GROUP BY place
),
judged AS (
    SELECT /*+ JOIN_FIXED_ORDER() NO_BNL() */
        d.place, d.ends_line, d.is_group, d.ends_task, d.ends_run, d.ends_reach,
        d.kind, d.holder, d.weight, d.free,
        d.is_candidate AND IF(c.place IS NULL, TRUE, c.starts IS TRUE) AS starts,
        d.is_candidate AND c.place IS NOT NULL AND c.starts IS NULL AS is_undecided
    FROM demanded AS d
    LEFT JOIN contested AS c ON c.place = d.place
    HAVING starts OR is_undecided OR ends_line OR ends_task OR ends_run OR ends_reach
),
left_over AS (
    SELECT
        judged.*,
        free - SUM(IF(starts, weight, 0)) OVER by_holder AS still_free
    FROM judged
    WINDOW by_holder AS (PARTITION BY kind, holder ORDER BY place ROWS UNBOUNDED PRECEDING)
),
room AS (
    SELECT
        place, starts, is_undecided, ends_line, is_group, ends_task, ends_run, ends_reach,
        MIN(IF(kind = 'pool', still_free, NULL)) AS pool_left,
        MIN(IF(kind = 'run', still_free, NULL)) AS run_left,
        MIN(IF(kind IN ('run', 'task', 'task in run'), still_free, NULL)) AS task_left,
        MIN(IF(kind = 'pool', still_free + IF(starts, weight, 0), NULL)) AS pool_free,
        MIN(IF(kind = 'run', still_free + starts, NULL)) AS run_free,
        MIN(IF(kind = 'task', still_free + starts, NULL)) AS task_free,
        MIN(IF(kind = 'task in run', still_free + starts, NULL)) AS task_in_run_free,
        MIN(IF(kind = 'executor', still_free + starts, NULL)) AS executor_free
    FROM left_over
    GROUP BY place, starts, is_undecided, ends_line, is_group, ends_task, ends_run, ends_reach
),
verdict AS (
    SELECT
        room.*,
        ends_reach OR (
            ends_line AND COALESCE(pool_left, 1) > 0 AND (NOT is_group OR task_left > 0)
        ) AS read_on,
        (ends_task AND task_left > 0) OR (ends_run AND run_left > 0) AS keep_more
    FROM room
),
final AS (
    SELECT
        verdict.*,
        SUM(starts) OVER in_order AS started,
        is_undecided OR read_on OR keep_more AS is_end,
        SUM(is_undecided OR read_on OR keep_more) OVER in_order AS ends
    FROM verdict
    WINDOW in_order AS (ORDER BY place ROWS UNBOUNDED PRECEDING)
)
SELECT
    IF(f.starts, l.dag_id, NULL) AS dag_id,
    IF(f.read_on, NULL, l.run_id) AS run_id,
    l.task_id, l.map_index, l.logical_date, l.priority_weight,
    IF(f.is_undecided, NULL, l.pool) AS pool,
    l.pool_slots,
    NULLIF(l.executor, '') AS executor,
    f.pool_free, f.run_free, f.task_free, f.task_in_run_free, f.executor_free,
    f.is_end AS more
FROM final AS f
JOIN looked_up AS l ON l.place = f.place
WHERE
    (f.starts AND f.ends = 0 AND f.started <= :max_tis) OR (f.is_end AND f.ends = 1 AND f.started < :max_tis)
ORDER BY f.place
