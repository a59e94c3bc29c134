-- name: upstream/decide
-- version: 1
-- purpose: What becomes of every task instance of some runs that is not scheduled yet, by its upstreams.
-- result: rows, by run as given, then task and map_index
-- param runs: json; [{"dag_id", "run_id"}, ...], each run once
-- param waiting: boolean; false leaves out those that wait
-- column dag_id: text
-- column run_id: text
-- column task_id: text
-- column map_index: integer; -1 = not mapped, or not expanded yet
-- column is_placeholder: boolean; it stands for instances that are still to be made, and never starts itself
-- column state: text; NULL, up_for_retry or up_for_reschedule
-- column trigger_rule: text
-- column decision: text; run, wait, skipped, upstream_failed or removed
-- column reason: text; what decided: rule, setups (indirect ones), scope (of a teardown), expansion, delay or past
-- column expected: integer; direct-upstream task instances, those counted that are still to come
-- column success: integer; of them; so the next four
-- column skipped: integer
-- column failed: integer
-- column upstream_failed: integer
-- column removed: integer
-- column setups: integer; of expected, those of setups
-- column setups_success: integer
-- column setups_skipped: integer
-- column indirect_setups: integer; task instances of relevant setups that are no direct upstreams
-- column indirect_setups_success: integer
-- column scope_open: integer; unfinished task instances between the setups of a teardown and it
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: none; trigger rules only
-- server: 8.4
-- origin: hand-written: a table of rules to be read; joins by numbers, for ids can't key a temporary table. The server
--   plans a CTE anew wherever it is named, with all below it, so each is named as seldom as can be: planning 306 tables
--   took 85 ms of each call, planning 112 takes 20. MERGE where a step would only be copied. "+ 0" in a join hides a
--   number from the server: it would give the step's table a key, and every row put in would pay for it, a quarter of
--   all time; so it joins by hashing, in join_buffer_size of memory. 1e0: sums of DOUBLE, which are exact up to 2^53,
--   take half of what those of DECIMAL take. SQL_BIG_RESULT: groups by sorting, which takes less than a temporary table
--   of so many columns

WITH wanted AS (
    SELECT r.dag_id, r.run_id, r.logical_date, j.run_no, DENSE_RANK() OVER (ORDER BY r.dag_id) AS dag_no
    FROM JSON_TABLE(:runs, '$[*]' COLUMNS (
        run_no FOR ORDINALITY,
        dag_id VARCHAR(250) PATH '$.dag_id',
        run_id VARCHAR(250) PATH '$.run_id'
    )) AS j
    STRAIGHT_JOIN dag_run AS r
        ON r.dag_id = j.dag_id COLLATE utf8mb4_0900_bin AND r.run_id = j.run_id COLLATE utf8mb4_0900_bin
),
wanted_dag AS (
    SELECT DISTINCT dag_id, dag_no FROM wanted
),
defined_task AS (
    SELECT /*+ INDEX(t PRIMARY) */
        d.dag_no, t.dag_id, t.task_id, t.task_no, t.trigger_rule, t.sized_by,
        t.depends_on_past, t.wait_for_downstream, t.ignore_first_depends_on_past
    FROM wanted_dag AS d
    STRAIGHT_JOIN task AS t ON t.dag_id = d.dag_id
    WHERE t.task_no IS NOT NULL
),
relation AS (
    SELECT /*+ INDEX(u PRIMARY) */
        d.dag_no, u.task_no, u.upstream_no,
        u.relation = 'direct' AS is_direct, u.relation = 'setup' AS is_indirect, u.relation = 'scope' AS is_scope,
        u.relation = 'expands' AS expands, u.is_setup, u.upstream_sized_by, u.counts_rows,
        u.common_group_no, u.maps_further
    FROM wanted_dag AS d
    STRAIGHT_JOIN task_upstream AS u ON u.dag_id = d.dag_id
),
sized AS (
    SELECT w.run_no, COALESCE(t.task_no, g.group_no) AS node_no, e.size
    FROM wanted AS w
    STRAIGHT_JOIN task_expansion AS e ON e.dag_id = w.dag_id AND e.run_id = w.run_id
    LEFT JOIN task AS t ON t.dag_id = e.dag_id AND t.task_id = e.node_id
    LEFT JOIN task_group AS g ON g.dag_id = e.dag_id AND g.group_id = e.node_id
),
instance AS (
    SELECT /*+ INDEX(ti ix_task_instance_upstream) */
        w.run_no, w.dag_no, t.task_no, ti.map_index, ti.state, s.size
    FROM wanted AS w
    STRAIGHT_JOIN task_instance AS ti ON ti.dag_id = w.dag_id AND ti.run_id = w.run_id
    STRAIGHT_JOIN defined_task AS t ON t.dag_no + 0 = w.dag_no AND t.task_id = ti.task_id
    LEFT JOIN sized AS s ON s.run_no + 0 = w.run_no AND s.node_no + 0 = t.sized_by
),
undecided AS (
    SELECT run_no, dag_no, task_no, map_index, state, size
    FROM instance
    WHERE state IS NULL OR state IN ('up_for_retry', 'up_for_reschedule')
),
counted AS (
    SELECT SQL_BIG_RESULT
        run_no, dag_no, task_no,
        MAX(size) AS size,
        COUNT(*) AS found,
        COUNT(IF(map_index >= 0 AND map_index < size, 1, NULL)) AS present,
        COUNT(IF(state = 'success', 1, NULL)) AS success,
        COUNT(IF(state = 'skipped', 1, NULL)) AS skipped,
        COUNT(IF(state = 'failed', 1, NULL)) AS failed,
        COUNT(IF(state = 'upstream_failed', 1, NULL)) AS upstream_failed,
        COUNT(IF(state = 'removed', 1, NULL)) AS removed,
        COUNT(IF(map_index < 0, 1, NULL)) AS placeholders,
        MAX(IF(map_index < 0, state, NULL)) AS placeholder_state,
        MAX(state IS NULL OR state IN ('up_for_retry', 'up_for_reschedule')) AS is_open
    FROM instance
    GROUP BY run_no, dag_no, task_no
),
-- Inside a mapped group an instance sees one place of the upstream, width instances of it; else all of it.
looked_at AS (
    SELECT
        o.run_no, o.task_no, r.upstream_no,
        r.is_direct, r.is_indirect, r.is_scope, r.expands, r.is_setup, r.counts_rows, r.upstream_sized_by,
        o.size AS own_size, around.size AS around_size,
        CASE WHEN r.maps_further THEN o.size DIV NULLIF(around.size, 0) ELSE 1 END AS width,
        COALESCE(o.size > 0 AND around.size > 0, FALSE) AS is_part,
        upstream.size AS upstream_size
    FROM counted AS o
    STRAIGHT_JOIN relation AS r ON r.dag_no + 0 = o.dag_no AND r.task_no + 0 = o.task_no
    LEFT JOIN sized AS around ON around.run_no = o.run_no AND around.node_no = r.common_group_no
    LEFT JOIN sized AS upstream ON upstream.run_no = o.run_no AND upstream.node_no = r.upstream_sized_by
    WHERE o.is_open
),
seen_by_all AS (
    SELECT
        l.run_no, l.task_no, l.is_direct, l.is_indirect, l.is_scope, l.expands, l.is_setup, c.placeholder_state,
        CASE
            WHEN NOT l.counts_rows THEN 1
            WHEN l.upstream_sized_by IS NULL THEN GREATEST(COALESCE(c.found, 0), 1)
            WHEN c.placeholders > 0 THEN c.found
            ELSE GREATEST(COALESCE(c.found, 0) + COALESCE(l.upstream_size, 0) - COALESCE(c.present, 0), 1)
        END AS expected,
        c.success, c.skipped, c.failed, c.upstream_failed, c.removed
    FROM looked_at AS l
    LEFT JOIN counted AS c ON c.run_no + 0 = l.run_no AND c.task_no + 0 = l.upstream_no
    WHERE NOT l.is_part OR l.expands
),
-- A mapped task that is expanded itself is no obstacle; one that is not, and did not succeed, gives no length.
by_all AS (
    SELECT /*+ MERGE(seen_by_all) */
        run_no, task_no,
        CAST(SUM(IF(is_direct, 1e0 * expected, NULL)) AS SIGNED) AS expected,
        CAST(SUM(IF(is_direct, 1e0 * success, NULL)) AS SIGNED) AS success,
        CAST(SUM(IF(is_direct, 1e0 * skipped, NULL)) AS SIGNED) AS skipped,
        CAST(SUM(IF(is_direct, 1e0 * failed, NULL)) AS SIGNED) AS failed,
        CAST(SUM(IF(is_direct, 1e0 * upstream_failed, NULL)) AS SIGNED) AS upstream_failed,
        CAST(SUM(IF(is_direct, 1e0 * removed, NULL)) AS SIGNED) AS removed,
        CAST(SUM(IF(is_direct AND is_setup, 1e0 * expected, NULL)) AS SIGNED) AS setups,
        CAST(SUM(IF(is_direct AND is_setup, 1e0 * success, NULL)) AS SIGNED) AS setups_success,
        CAST(SUM(IF(is_direct AND is_setup, 1e0 * skipped, NULL)) AS SIGNED) AS setups_skipped,
        CAST(SUM(IF(is_indirect, 1e0 * expected, NULL)) AS SIGNED) AS indirect,
        CAST(SUM(IF(is_indirect, 1e0 * success, NULL)) AS SIGNED) AS indirect_success,
        CAST(SUM(IF(is_indirect, 1e0 * skipped, NULL)) AS SIGNED) AS indirect_skipped,
        CAST(SUM(IF(is_indirect, 1e0 * (failed + upstream_failed), NULL)) AS SIGNED) AS indirect_bad,
        CAST(SUM(IF(is_indirect, 1e0 * removed, NULL)) AS SIGNED) AS indirect_removed,
        CAST(SUM(IF(
            is_scope,
            expected - COALESCE(success + skipped + failed + upstream_failed + removed, 0),
            NULL
        )) AS SIGNED) AS scope_open,
        MAX(expands AND placeholder_state IN ('failed', 'upstream_failed')) AS over_bad,
        MAX(expands AND placeholder_state = 'skipped') AS over_skipped,
        MAX(
            expands AND placeholder_state IN ('failed', 'upstream_failed', 'skipped', 'removed')
        ) AS over_unusable
    FROM seen_by_all
    GROUP BY run_no, task_no
),
looked_at_in_part AS (
    SELECT /*+ MERGE(l) */
        l.run_no, l.task_no, l.upstream_no,
        l.is_direct, l.is_indirect, l.is_scope, l.expands, l.is_setup, l.counts_rows,
        l.own_size, l.around_size, l.width, l.upstream_size
    FROM looked_at AS l
    WHERE l.own_size > 0 AND l.is_part AND NOT l.expands
),
placed AS (
    SELECT /*+ MERGE(u) */
        l.run_no, l.task_no, u.map_index, l.upstream_no,
        l.is_direct, l.is_indirect, l.is_scope, l.expands, l.is_setup, l.counts_rows,
        l.width, l.upstream_size, u.map_index * l.around_size DIV l.own_size AS place
    FROM undecided AS u
    STRAIGHT_JOIN looked_at_in_part AS l ON l.run_no + 0 = u.run_no AND l.task_no + 0 = u.task_no
    WHERE u.map_index >= 0
),
part AS (
    SELECT
        l.run_no, l.task_no, l.upstream_no, i.map_index DIV NULLIF(l.width, 0) AS place,
        COUNT(*) AS found,
        COUNT(IF(i.map_index < l.upstream_size, 1, NULL)) AS present,
        COUNT(IF(i.state = 'success', 1, NULL)) AS success,
        COUNT(IF(i.state = 'skipped', 1, NULL)) AS skipped,
        COUNT(IF(i.state = 'failed', 1, NULL)) AS failed,
        COUNT(IF(i.state = 'upstream_failed', 1, NULL)) AS upstream_failed,
        COUNT(IF(i.state = 'removed', 1, NULL)) AS removed
    FROM looked_at_in_part AS l
    STRAIGHT_JOIN instance AS i ON i.run_no + 0 = l.run_no AND i.task_no + 0 = l.upstream_no
    WHERE i.map_index >= 0
    GROUP BY l.run_no, l.task_no, l.upstream_no, place
),
seen_by_one AS (
    SELECT
        l.run_no, l.task_no, l.map_index, l.is_direct, l.is_indirect, l.is_scope, l.expands, l.is_setup,
        CASE
            WHEN NOT l.counts_rows THEN 1
            WHEN c.placeholders > 0 THEN c.placeholders + COALESCE(p.found, 0)
            ELSE
                GREATEST(
                    LEAST((l.place + 1) * l.width, COALESCE(l.upstream_size, (l.place + 1) * l.width))
                    - l.place * l.width, 0
                )
                + COALESCE(p.found - p.present, 0)
        END AS expected,
        COALESCE(p.success, 0) + CASE WHEN c.placeholder_state = 'success' THEN 1 ELSE 0 END AS success,
        COALESCE(p.skipped, 0) + CASE WHEN c.placeholder_state = 'skipped' THEN 1 ELSE 0 END AS skipped,
        COALESCE(p.failed, 0) + CASE WHEN c.placeholder_state = 'failed' THEN 1 ELSE 0 END AS failed,
        COALESCE(p.upstream_failed, 0)
        + CASE WHEN c.placeholder_state = 'upstream_failed' THEN 1 ELSE 0 END AS upstream_failed,
        COALESCE(p.removed, 0) + CASE WHEN c.placeholder_state = 'removed' THEN 1 ELSE 0 END AS removed
    FROM placed AS l
    LEFT JOIN part AS p
        ON p.run_no + 0 = l.run_no AND p.task_no + 0 = l.task_no
        AND p.upstream_no + 0 = l.upstream_no AND p.place + 0 = l.place
    LEFT JOIN counted AS c ON c.run_no + 0 = l.run_no AND c.task_no + 0 = l.upstream_no
),
by_one AS (
    SELECT /*+ MERGE(seen_by_one) */
        run_no, task_no, map_index,
        CAST(SUM(IF(is_direct, 1e0 * expected, NULL)) AS SIGNED) AS expected,
        CAST(SUM(IF(is_direct, 1e0 * success, NULL)) AS SIGNED) AS success,
        CAST(SUM(IF(is_direct, 1e0 * skipped, NULL)) AS SIGNED) AS skipped,
        CAST(SUM(IF(is_direct, 1e0 * failed, NULL)) AS SIGNED) AS failed,
        CAST(SUM(IF(is_direct, 1e0 * upstream_failed, NULL)) AS SIGNED) AS upstream_failed,
        CAST(SUM(IF(is_direct, 1e0 * removed, NULL)) AS SIGNED) AS removed,
        CAST(SUM(IF(is_direct AND is_setup, 1e0 * expected, NULL)) AS SIGNED) AS setups,
        CAST(SUM(IF(is_direct AND is_setup, 1e0 * success, NULL)) AS SIGNED) AS setups_success,
        CAST(SUM(IF(is_direct AND is_setup, 1e0 * skipped, NULL)) AS SIGNED) AS setups_skipped,
        CAST(SUM(IF(is_indirect, 1e0 * expected, NULL)) AS SIGNED) AS indirect,
        CAST(SUM(IF(is_indirect, 1e0 * success, NULL)) AS SIGNED) AS indirect_success,
        CAST(SUM(IF(is_indirect, 1e0 * skipped, NULL)) AS SIGNED) AS indirect_skipped,
        CAST(SUM(IF(is_indirect, 1e0 * (failed + upstream_failed), NULL)) AS SIGNED) AS indirect_bad,
        CAST(SUM(IF(is_indirect, 1e0 * removed, NULL)) AS SIGNED) AS indirect_removed,
        CAST(SUM(IF(
            is_scope,
            expected - COALESCE(success + skipped + failed + upstream_failed + removed, 0),
            NULL
        )) AS SIGNED) AS scope_open
    FROM seen_by_one
    GROUP BY run_no, task_no, map_index
),
past_task AS (
    SELECT dag_no, dag_id, task_id, task_no, wait_for_downstream, ignore_first_depends_on_past
    FROM defined_task
    WHERE depends_on_past
),
run_before AS (
    SELECT /*+ INDEX(r ix_dag_run_logical_date) */
        r.dag_id, r.run_id,
        LAG(r.run_id) OVER (PARTITION BY r.dag_id ORDER BY r.logical_date, r.run_id) AS before_id
    FROM (SELECT DISTINCT dag_id FROM past_task) AS d
    STRAIGHT_JOIN dag_run AS r ON r.dag_id = d.dag_id
    WHERE r.logical_date IS NOT NULL
),
past_unmet AS (
    SELECT w.run_no, t.task_no
    FROM past_task AS t
    STRAIGHT_JOIN wanted AS w ON w.dag_no = t.dag_no
    STRAIGHT_JOIN run_before AS b ON b.dag_id = w.dag_id AND b.run_id = w.run_id
    WHERE
        b.before_id IS NOT NULL
        AND CASE
            WHEN EXISTS (
                SELECT /*+ INDEX(ti ix_task_instance_upstream) */ 1 FROM task_instance AS ti
                WHERE ti.dag_id = w.dag_id AND ti.run_id = b.before_id AND ti.task_id = t.task_id
            ) THEN
                EXISTS (
                    SELECT /*+ INDEX(ti ix_task_instance_upstream) */ 1 FROM task_instance AS ti
                    WHERE
                        ti.dag_id = w.dag_id AND ti.run_id = b.before_id AND ti.task_id = t.task_id
                        AND (ti.state IS NULL OR ti.state NOT IN ('success', 'skipped'))
                )
                OR t.wait_for_downstream
                AND EXISTS (
                    SELECT /*+ INDEX(r PRIMARY) INDEX(ti ix_task_instance_upstream) */ 1
                    FROM task_upstream AS r
                    STRAIGHT_JOIN task AS below ON below.dag_id = r.dag_id AND below.task_no = r.task_no
                    STRAIGHT_JOIN task_instance AS ti
                        ON ti.dag_id = r.dag_id AND ti.run_id = b.before_id AND ti.task_id = below.task_id
                    WHERE
                        r.dag_id = t.dag_id AND r.upstream_no = t.task_no AND r.relation = 'direct'
                        AND (ti.state IS NULL OR ti.state NOT IN ('success', 'skipped'))
                )
            ELSE
                NOT t.ignore_first_depends_on_past
                OR EXISTS (
                    SELECT /*+ INDEX(earlier ix_dag_run_logical_date) INDEX(ti ix_task_instance_upstream) */ 1
                    FROM dag_run AS earlier
                    STRAIGHT_JOIN task_instance AS ti
                        ON ti.dag_id = earlier.dag_id AND ti.run_id = earlier.run_id AND ti.task_id = t.task_id
                    WHERE earlier.dag_id = w.dag_id AND earlier.logical_date < w.logical_date
                )
        END
),
evidence AS (
    SELECT /*+ MERGE(u) */
        u.run_no, u.task_no, t.task_id, t.trigger_rule, u.map_index, u.state, u.size,
        u.map_index < 0 AND t.sized_by IS NOT NULL AS is_placeholder,
        a.expected IS NOT NULL OR p.expected IS NOT NULL AS has_upstreams,
        COALESCE(a.expected, 0) + COALESCE(p.expected, 0) AS expected,
        COALESCE(a.success, 0) + COALESCE(p.success, 0) AS success,
        COALESCE(a.skipped, 0) + COALESCE(p.skipped, 0) AS skipped,
        COALESCE(a.failed, 0) + COALESCE(p.failed, 0) AS failed,
        COALESCE(a.upstream_failed, 0) + COALESCE(p.upstream_failed, 0) AS upstream_failed,
        COALESCE(a.removed, 0) + COALESCE(p.removed, 0) AS removed,
        COALESCE(a.setups, 0) + COALESCE(p.setups, 0) AS setups,
        COALESCE(a.setups_success, 0) + COALESCE(p.setups_success, 0) AS setups_success,
        COALESCE(a.setups_skipped, 0) + COALESCE(p.setups_skipped, 0) AS setups_skipped,
        COALESCE(a.indirect, 0) + COALESCE(p.indirect, 0) AS indirect,
        COALESCE(a.indirect_success, 0) + COALESCE(p.indirect_success, 0) AS indirect_success,
        COALESCE(a.indirect_skipped, 0) + COALESCE(p.indirect_skipped, 0) AS indirect_skipped,
        COALESCE(a.indirect_bad, 0) + COALESCE(p.indirect_bad, 0) AS indirect_bad,
        COALESCE(a.indirect_removed, 0) + COALESCE(p.indirect_removed, 0) AS indirect_removed,
        COALESCE(a.scope_open, 0) + COALESCE(p.scope_open, 0) AS scope_open,
        a.over_bad, a.over_skipped, a.over_unusable,
        u.state IS NOT NULL
        AND EXISTS (
            SELECT 1
            FROM wanted AS w
            STRAIGHT_JOIN task_instance AS ti
                ON ti.dag_id = w.dag_id AND ti.run_id = w.run_id
                AND ti.task_id = t.task_id AND ti.map_index = u.map_index
            WHERE w.run_no = u.run_no AND ti.not_before > UTC_TIMESTAMP(6)
        ) AS is_early,
        past.task_no IS NOT NULL AS is_past_unmet
    FROM undecided AS u
    STRAIGHT_JOIN defined_task AS t ON t.dag_no + 0 = u.dag_no AND t.task_no + 0 = u.task_no
    LEFT JOIN by_all AS a ON a.run_no + 0 = u.run_no AND a.task_no + 0 = u.task_no
    LEFT JOIN by_one AS p ON p.run_no + 0 = u.run_no AND p.task_no + 0 = u.task_no AND p.map_index + 0 = u.map_index
    LEFT JOIN past_unmet AS past ON past.run_no + 0 = u.run_no AND past.task_no + 0 = u.task_no
),
totalled AS (
    SELECT
        e.*,
        e.failed + e.upstream_failed AS bad,
        e.success + e.skipped + e.failed + e.upstream_failed + e.removed AS done
    FROM evidence AS e
),
judged AS (
    SELECT /*+ MERGE(e) */
        e.*,
        CASE
            WHEN e.indirect_bad > 0 THEN 'upstream_failed'
            WHEN e.indirect_skipped > 0 THEN 'skipped'
            WHEN e.indirect_removed > 0 AND e.indirect_success > 0 AND e.map_index >= e.indirect_success THEN 'removed'
            WHEN
                e.indirect - e.indirect_success
                - CASE WHEN e.map_index > -1 THEN e.indirect_removed ELSE 0 END > 0 THEN 'wait'
            ELSE 'run'
        END AS by_setups,
        CASE
            WHEN NOT e.has_upstreams OR e.trigger_rule = 'always' THEN 'run'
            WHEN e.trigger_rule = 'all_success' THEN CASE
                WHEN e.bad > 0 THEN 'upstream_failed'
                WHEN e.skipped > 0 THEN 'skipped'
                WHEN e.removed > 0 AND e.success > 0 AND e.map_index >= e.success THEN 'removed'
                WHEN e.expected - e.success - e.removed <= 0 THEN 'run'
                ELSE 'wait'
            END
            WHEN e.trigger_rule = 'all_failed' THEN CASE
                WHEN e.success + e.skipped > 0 THEN 'skipped'
                WHEN e.expected - e.bad - e.removed <= 0 THEN 'run'
                ELSE 'wait'
            END
            WHEN e.trigger_rule = 'all_done' THEN CASE
                WHEN e.done >= e.expected THEN 'run'
                ELSE 'wait'
            END
            WHEN e.trigger_rule = 'all_done_min_one_success' THEN CASE
                WHEN e.skipped > 0 THEN 'skipped'
                WHEN e.bad + e.removed >= e.expected AND e.success = 0 THEN 'upstream_failed'
                WHEN e.success + e.bad >= e.expected - e.removed AND e.success > 0 THEN 'run'
                ELSE 'wait'
            END
            WHEN e.trigger_rule = 'all_done_setup_success' THEN CASE
                WHEN e.done < e.expected THEN 'wait'
                WHEN e.setups > 0 AND e.setups_skipped >= e.setups THEN 'skipped'
                WHEN e.setups > 0 AND e.setups_success = 0 THEN 'upstream_failed'
                ELSE 'run'
            END
            WHEN e.trigger_rule = 'one_success' THEN CASE
                WHEN e.done >= e.expected AND e.done = e.skipped THEN 'skipped'
                WHEN e.done >= e.expected AND e.success = 0 THEN 'upstream_failed'
                WHEN e.success > 0 THEN 'run'
                ELSE 'wait'
            END
            WHEN e.trigger_rule = 'one_failed' THEN CASE
                WHEN e.done >= e.expected AND e.bad = 0 THEN 'skipped'
                WHEN e.bad > 0 THEN 'run'
                ELSE 'wait'
            END
            WHEN e.trigger_rule = 'one_done' THEN CASE
                WHEN e.done >= e.expected AND e.success + e.failed = 0 THEN 'skipped'
                WHEN e.success + e.failed > 0 THEN 'run'
                ELSE 'wait'
            END
            WHEN e.trigger_rule = 'none_failed' THEN CASE
                WHEN e.bad > 0 THEN 'upstream_failed'
                WHEN e.expected - e.success - e.skipped - e.removed <= 0 THEN 'run'
                ELSE 'wait'
            END
            WHEN e.trigger_rule = 'none_failed_min_one_success' THEN CASE
                WHEN e.bad > 0 THEN 'upstream_failed'
                WHEN e.skipped = e.expected THEN 'skipped'
                WHEN e.done >= e.expected AND e.success = 0 THEN 'upstream_failed'
                WHEN e.expected - e.success - e.skipped - e.removed <= 0 AND e.success > 0 THEN 'run'
                ELSE 'wait'
            END
            WHEN e.trigger_rule = 'none_skipped' THEN CASE
                WHEN e.skipped > 0 THEN 'skipped'
                WHEN e.done >= e.expected THEN 'run'
                ELSE 'wait'
            END
            WHEN e.trigger_rule = 'all_skipped' THEN CASE
                WHEN e.success + e.bad > 0 THEN 'skipped'
                WHEN e.expected - e.skipped <= 0 THEN 'run'
                ELSE 'wait'
            END
        END AS by_rule
    FROM totalled AS e
),
by_upstreams AS (
    SELECT
        j.*,
        CASE
            WHEN j.by_setups NOT IN ('run', 'wait') THEN j.by_setups
            WHEN j.by_rule NOT IN ('run', 'wait') THEN j.by_rule
            WHEN j.by_setups = 'wait' OR j.by_rule = 'wait' OR j.scope_open > 0 THEN 'wait'
            ELSE 'run'
        END AS verdict,
        CASE
            WHEN j.by_setups NOT IN ('run', 'wait') THEN 'setups'
            WHEN j.by_rule <> 'run' THEN 'rule'
            WHEN j.by_setups = 'wait' THEN 'setups'
            WHEN j.scope_open > 0 THEN 'scope'
            ELSE 'rule'
        END AS verdict_reason
    FROM judged AS j
),
decided AS (
    SELECT /*+ MERGE(b) */
        b.*,
        CASE
            WHEN b.map_index < 0 AND b.size > 0 THEN 'wait'
            WHEN b.over_bad OR b.verdict = 'upstream_failed' THEN 'upstream_failed'
            WHEN b.over_skipped OR b.verdict = 'skipped' THEN 'skipped'
            WHEN b.verdict = 'removed' THEN 'removed'
            WHEN b.over_unusable OR b.verdict = 'wait' THEN 'wait'
            WHEN b.map_index < 0 AND b.size = 0 THEN 'skipped'
            WHEN b.is_early OR b.is_past_unmet THEN 'wait'
            ELSE 'run'
        END AS decision,
        CASE
            WHEN b.map_index < 0 AND b.size > 0 THEN 'expansion'
            WHEN b.over_bad AND b.verdict <> 'upstream_failed' THEN 'expansion'
            WHEN b.over_skipped AND b.verdict NOT IN ('upstream_failed', 'skipped') THEN 'expansion'
            WHEN b.verdict <> 'run' THEN b.verdict_reason
            WHEN b.over_unusable OR b.map_index < 0 AND b.size = 0 THEN 'expansion'
            WHEN b.is_early THEN 'delay'
            WHEN b.is_past_unmet THEN 'past'
            ELSE 'rule'
        END AS reason
    FROM by_upstreams AS b
)
SELECT
    /*+
    MERGE(d)
    SET_VAR(optimizer_switch = 'derived_merge=off,derived_condition_pushdown=off')
    SET_VAR(tmp_table_size = 268435456)
    SET_VAR(join_buffer_size = 67108864)
    */
    w.dag_id, w.run_id, d.task_id, d.map_index, d.is_placeholder, d.state, d.trigger_rule, d.decision,
    d.reason, d.expected, d.success, d.skipped, d.failed, d.upstream_failed, d.removed,
    d.setups, d.setups_success, d.setups_skipped,
    d.indirect AS indirect_setups, d.indirect_success AS indirect_setups_success, d.scope_open
FROM decided AS d
STRAIGHT_JOIN wanted AS w ON w.run_no = d.run_no
WHERE :waiting OR d.decision <> 'wait'
ORDER BY d.run_no, d.task_no, d.map_index
