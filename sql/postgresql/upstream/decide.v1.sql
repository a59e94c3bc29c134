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
-- isolation: any; one statement, one snapshot. With enable_nestloop off until it is done: the planner expects one row
--   of most CTEs, and would join them row by row
-- limits: none; trigger rules only
-- server: 15
-- origin: hand-written: a table of rules to be read; MySQL needs its own joins

WITH wanted AS MATERIALIZED (
    SELECT r.dag_id, r.run_id, r.logical_date, j.run_no, DENSE_RANK() OVER (ORDER BY r.dag_id) AS dag_no
    FROM ROWS FROM (
        jsonb_to_recordset(CAST(:runs AS jsonb)) AS (dag_id text, run_id text)
    ) WITH ORDINALITY AS j (dag_id, run_id, run_no)
    CROSS JOIN LATERAL (
        -- The first from there on: only the primary key gives that, so the table is not read for each run.
        SELECT f.dag_id, f.run_id, f.logical_date
        FROM (
            SELECT dag_id, run_id, logical_date FROM dag_run
            WHERE (dag_run.dag_id, dag_run.run_id) >= (j.dag_id, j.run_id)
            ORDER BY dag_run.dag_id, dag_run.run_id
            LIMIT 1
        ) AS f
        WHERE f.dag_id = j.dag_id AND f.run_id = j.run_id
        OFFSET 0
    ) AS r
),
wanted_dag AS MATERIALIZED (
    SELECT DISTINCT dag_id, dag_no FROM wanted
),
defined_task AS MATERIALIZED (
    SELECT
        d.dag_no, d.dag_id, t.task_id, t.task_no, t.trigger_rule, t.sized_by,
        t.depends_on_past, t.wait_for_downstream, t.ignore_first_depends_on_past
    FROM wanted_dag AS d
    CROSS JOIN LATERAL (
        SELECT task_id, task_no, trigger_rule, sized_by, depends_on_past, wait_for_downstream,
            ignore_first_depends_on_past
        FROM task
        WHERE task.dag_id = d.dag_id AND task.task_no IS NOT NULL
        OFFSET 0
    ) AS t
),
relation AS MATERIALIZED (
    SELECT
        d.dag_no, u.task_no, u.upstream_no, u.relation, u.is_setup, u.upstream_sized_by, u.counts_rows,
        u.common_group_no, u.maps_further
    FROM wanted_dag AS d
    CROSS JOIN LATERAL (
        SELECT task_no, upstream_no, relation, is_setup, upstream_sized_by, counts_rows, common_group_no, maps_further
        FROM task_upstream
        WHERE task_upstream.dag_id = d.dag_id
        OFFSET 0
    ) AS u
),
defined_group AS MATERIALIZED (
    SELECT d.dag_no, g.group_id, g.group_no
    FROM wanted_dag AS d
    CROSS JOIN LATERAL (
        SELECT group_id, group_no FROM task_group WHERE task_group.dag_id = d.dag_id OFFSET 0
    ) AS g
),
sized AS MATERIALIZED (
    SELECT w.run_no, COALESCE(t.task_no, g.group_no) AS node_no, e.size
    FROM wanted AS w
    CROSS JOIN LATERAL (
        SELECT node_id, size FROM task_expansion
        WHERE task_expansion.dag_id = w.dag_id AND task_expansion.run_id = w.run_id
        OFFSET 0
    ) AS e
    LEFT JOIN defined_task AS t ON t.dag_no = w.dag_no AND t.task_id = e.node_id
    LEFT JOIN defined_group AS g ON g.dag_no = w.dag_no AND g.group_id = e.node_id
),
instance AS MATERIALIZED (
    SELECT w.run_no, w.dag_no, t.task_no, ti.map_index, ti.state, s.size
    FROM wanted AS w
    CROSS JOIN LATERAL (
        SELECT task_id, map_index, state FROM task_instance
        WHERE task_instance.dag_id = w.dag_id AND task_instance.run_id = w.run_id
        OFFSET 0
    ) AS ti
    JOIN defined_task AS t ON t.dag_no = w.dag_no AND t.task_id = ti.task_id
    LEFT JOIN sized AS s ON s.run_no = w.run_no AND s.node_no = t.sized_by
),
undecided AS MATERIALIZED (
    SELECT run_no, task_no, map_index, state
    FROM instance
    WHERE state IS NULL OR state IN ('up_for_retry', 'up_for_reschedule')
),
-- Integers, for the sum of bigints is a numeric, which is slow to reckon with.
counted AS MATERIALIZED (
    SELECT
        run_no, dag_no, task_no,
        CAST(COUNT(*) AS integer) AS found,
        CAST(COUNT(*) FILTER (WHERE map_index >= 0 AND map_index < size) AS integer) AS present,
        CAST(COUNT(*) FILTER (WHERE state = 'success') AS integer) AS success,
        CAST(COUNT(*) FILTER (WHERE state = 'skipped') AS integer) AS skipped,
        CAST(COUNT(*) FILTER (WHERE state = 'failed') AS integer) AS failed,
        CAST(COUNT(*) FILTER (WHERE state = 'upstream_failed') AS integer) AS upstream_failed,
        CAST(COUNT(*) FILTER (WHERE state = 'removed') AS integer) AS removed,
        CAST(COUNT(*) FILTER (WHERE map_index < 0) AS integer) AS placeholders,
        MAX(state) FILTER (WHERE map_index < 0) AS placeholder_state,
        BOOL_OR(state IS NULL OR state IN ('up_for_retry', 'up_for_reschedule')) AS is_open
    FROM instance
    GROUP BY run_no, dag_no, task_no
),
open_task AS MATERIALIZED (
    SELECT c.run_no, c.dag_no, c.task_no, s.size
    FROM counted AS c
    JOIN defined_task AS t ON t.dag_no = c.dag_no AND t.task_no = c.task_no
    LEFT JOIN sized AS s ON s.run_no = c.run_no AND s.node_no = t.sized_by
    WHERE c.is_open
),
-- Inside a mapped group an instance sees one place of the upstream, width instances of it; else all of it.
looked_at AS MATERIALIZED (
    SELECT
        o.run_no, o.task_no, r.upstream_no, r.relation, r.is_setup, r.counts_rows, r.upstream_sized_by,
        o.size AS own_size, around.size AS around_size,
        CASE WHEN r.maps_further THEN o.size / NULLIF(around.size, 0) ELSE 1 END AS width,
        COALESCE(o.size > 0 AND around.size > 0, FALSE) AS is_part,
        upstream.size AS upstream_size
    FROM open_task AS o
    JOIN relation AS r ON r.dag_no = o.dag_no AND r.task_no = o.task_no
    LEFT JOIN sized AS around ON around.run_no = o.run_no AND around.node_no = r.common_group_no
    LEFT JOIN sized AS upstream ON upstream.run_no = o.run_no AND upstream.node_no = r.upstream_sized_by
),
placed AS MATERIALIZED (
    SELECT
        l.run_no, l.task_no, u.map_index, l.upstream_no, l.relation, l.is_setup, l.counts_rows, l.width,
        l.upstream_size, CAST(u.map_index AS bigint) * l.around_size / l.own_size AS place
    FROM undecided AS u
    JOIN looked_at AS l ON l.run_no = u.run_no AND l.task_no = u.task_no
    WHERE l.is_part AND l.relation <> 'expands' AND u.map_index >= 0
),
part AS MATERIALIZED (
    SELECT
        l.run_no, l.task_no, l.upstream_no, i.map_index / NULLIF(l.width, 0) AS place,
        CAST(COUNT(*) AS integer) AS found,
        CAST(COUNT(*) FILTER (WHERE i.map_index < l.upstream_size) AS integer) AS present,
        CAST(COUNT(*) FILTER (WHERE i.state = 'success') AS integer) AS success,
        CAST(COUNT(*) FILTER (WHERE i.state = 'skipped') AS integer) AS skipped,
        CAST(COUNT(*) FILTER (WHERE i.state = 'failed') AS integer) AS failed,
        CAST(COUNT(*) FILTER (WHERE i.state = 'upstream_failed') AS integer) AS upstream_failed,
        CAST(COUNT(*) FILTER (WHERE i.state = 'removed') AS integer) AS removed
    FROM looked_at AS l
    JOIN instance AS i ON i.run_no = l.run_no AND i.task_no = l.upstream_no
    WHERE l.is_part AND l.relation <> 'expands' AND i.map_index >= 0
    GROUP BY l.run_no, l.task_no, l.upstream_no, place
),
-- map_index -2 stands for all instances of the task, which see the same.
seen AS (
    SELECT
        l.run_no, l.task_no, -2 AS map_index, l.relation, l.is_setup,
        CASE
            WHEN NOT l.counts_rows THEN 1
            WHEN l.upstream_sized_by IS NULL THEN GREATEST(c.found, 1)
            WHEN c.placeholders > 0 THEN c.found
            ELSE GREATEST(COALESCE(c.found, 0) + COALESCE(l.upstream_size, 0) - COALESCE(c.present, 0), 1)
        END AS expected,
        c.success, c.skipped, c.failed, c.upstream_failed, c.removed
    FROM looked_at AS l
    LEFT JOIN counted AS c ON c.run_no = l.run_no AND c.task_no = l.upstream_no
    WHERE NOT l.is_part AND l.relation <> 'expands'
    UNION ALL
    SELECT
        l.run_no, l.task_no, l.map_index, l.relation, l.is_setup,
        CASE
            WHEN NOT l.counts_rows THEN 1
            WHEN c.placeholders > 0 THEN c.placeholders + COALESCE(p.found, 0)
            ELSE
                CAST(GREATEST(LEAST((l.place + 1) * l.width, l.upstream_size) - l.place * l.width, 0) AS integer)
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
        ON p.run_no = l.run_no AND p.task_no = l.task_no AND p.upstream_no = l.upstream_no AND p.place = l.place
    LEFT JOIN counted AS c ON c.run_no = l.run_no AND c.task_no = l.upstream_no
),
summed AS MATERIALIZED (
    SELECT
        run_no, task_no, map_index,
        SUM(expected) FILTER (WHERE relation = 'direct') AS expected,
        SUM(success) FILTER (WHERE relation = 'direct') AS success,
        SUM(skipped) FILTER (WHERE relation = 'direct') AS skipped,
        SUM(failed) FILTER (WHERE relation = 'direct') AS failed,
        SUM(upstream_failed) FILTER (WHERE relation = 'direct') AS upstream_failed,
        SUM(removed) FILTER (WHERE relation = 'direct') AS removed,
        SUM(expected) FILTER (WHERE relation = 'direct' AND is_setup) AS setups,
        SUM(success) FILTER (WHERE relation = 'direct' AND is_setup) AS setups_success,
        SUM(skipped) FILTER (WHERE relation = 'direct' AND is_setup) AS setups_skipped,
        SUM(expected) FILTER (WHERE relation = 'setup') AS indirect,
        SUM(success) FILTER (WHERE relation = 'setup') AS indirect_success,
        SUM(skipped) FILTER (WHERE relation = 'setup') AS indirect_skipped,
        SUM(failed + upstream_failed) FILTER (WHERE relation = 'setup') AS indirect_bad,
        SUM(removed) FILTER (WHERE relation = 'setup') AS indirect_removed,
        SUM(expected - COALESCE(success + skipped + failed + upstream_failed + removed, 0))
            FILTER (WHERE relation = 'scope') AS scope_open
    FROM seen
    GROUP BY run_no, task_no, map_index
),
-- A mapped task that is expanded itself is no obstacle; one that is not, and did not succeed, gives no length.
expanded_over AS MATERIALIZED (
    SELECT
        l.run_no, l.task_no,
        BOOL_OR(c.placeholder_state IN ('failed', 'upstream_failed')) AS over_bad,
        BOOL_OR(c.placeholder_state = 'skipped') AS over_skipped
    FROM looked_at AS l
    JOIN counted AS c ON c.run_no = l.run_no AND c.task_no = l.upstream_no
    WHERE l.relation = 'expands' AND c.placeholder_state IN ('failed', 'upstream_failed', 'skipped', 'removed')
    GROUP BY l.run_no, l.task_no
),
too_early AS MATERIALIZED (
    SELECT u.run_no, u.task_no, u.map_index
    FROM undecided AS u
    JOIN wanted AS w ON w.run_no = u.run_no
    JOIN defined_task AS t ON t.dag_no = w.dag_no AND t.task_no = u.task_no
    CROSS JOIN LATERAL (
        SELECT not_before FROM task_instance
        WHERE
            task_instance.dag_id = w.dag_id AND task_instance.run_id = w.run_id
            AND task_instance.task_id = t.task_id AND task_instance.map_index = u.map_index
        OFFSET 0
    ) AS ti
    WHERE u.state IN ('up_for_retry', 'up_for_reschedule') AND ti.not_before > STATEMENT_TIMESTAMP()
),
run_before AS (
    SELECT
        r.dag_id, r.run_id,
        LAG(r.run_id) OVER (PARTITION BY r.dag_id ORDER BY r.logical_date, r.run_id) AS before_id
    FROM (SELECT DISTINCT t.dag_id FROM defined_task AS t WHERE t.depends_on_past) AS d
    CROSS JOIN LATERAL (
        SELECT dag_id, run_id, logical_date FROM dag_run
        WHERE dag_run.dag_id = d.dag_id AND dag_run.logical_date IS NOT NULL
        OFFSET 0
    ) AS r
),
past_unmet AS MATERIALIZED (
    SELECT o.run_no, o.task_no
    FROM open_task AS o
    JOIN defined_task AS t ON t.dag_no = o.dag_no AND t.task_no = o.task_no
    JOIN wanted AS w ON w.run_no = o.run_no
    JOIN run_before AS b ON b.dag_id = w.dag_id AND b.run_id = w.run_id
    WHERE
        t.depends_on_past AND b.before_id IS NOT NULL
        AND CASE
            WHEN EXISTS (
                SELECT 1 FROM task_instance AS ti
                WHERE ti.dag_id = w.dag_id AND ti.run_id = b.before_id AND ti.task_id = t.task_id
            ) THEN
                EXISTS (
                    SELECT 1 FROM task_instance AS ti
                    WHERE
                        ti.dag_id = w.dag_id AND ti.run_id = b.before_id AND ti.task_id = t.task_id
                        AND (ti.state IS NULL OR ti.state NOT IN ('success', 'skipped'))
                )
                OR t.wait_for_downstream
                AND EXISTS (
                    SELECT 1
                    FROM relation AS r
                    JOIN defined_task AS below ON below.dag_no = r.dag_no AND below.task_no = r.task_no
                    JOIN task_instance AS ti
                        ON ti.dag_id = w.dag_id AND ti.run_id = b.before_id AND ti.task_id = below.task_id
                    WHERE
                        r.dag_no = o.dag_no AND r.upstream_no = o.task_no AND r.relation = 'direct'
                        AND (ti.state IS NULL OR ti.state NOT IN ('success', 'skipped'))
                )
            ELSE
                NOT t.ignore_first_depends_on_past
                OR EXISTS (
                    SELECT 1
                    FROM dag_run AS earlier
                    JOIN task_instance AS ti
                        ON ti.dag_id = earlier.dag_id AND ti.run_id = earlier.run_id AND ti.task_id = t.task_id
                    WHERE earlier.dag_id = w.dag_id AND earlier.logical_date < w.logical_date
                )
        END
),
evidence AS (
    SELECT
        u.run_no, o.dag_no, u.task_no, u.map_index, u.state, o.size,
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
        e.over_bad, e.over_skipped,
        e.task_no IS NOT NULL AS over_unusable,
        early.task_no IS NOT NULL AS is_early,
        past.task_no IS NOT NULL AS is_past_unmet
    FROM undecided AS u
    JOIN open_task AS o ON o.run_no = u.run_no AND o.task_no = u.task_no
    LEFT JOIN summed AS a ON a.run_no = u.run_no AND a.task_no = u.task_no AND a.map_index = -2
    LEFT JOIN summed AS p ON p.run_no = u.run_no AND p.task_no = u.task_no AND p.map_index = u.map_index
    LEFT JOIN expanded_over AS e ON e.run_no = u.run_no AND e.task_no = u.task_no
    LEFT JOIN too_early AS early
        ON early.run_no = u.run_no AND early.task_no = u.task_no AND early.map_index = u.map_index
    LEFT JOIN past_unmet AS past ON past.run_no = u.run_no AND past.task_no = u.task_no
),
totalled AS (
    SELECT
        e.*, t.task_id, t.trigger_rule,
        e.map_index < 0 AND t.sized_by IS NOT NULL AS is_placeholder,
        e.failed + e.upstream_failed AS bad,
        e.success + e.skipped + e.failed + e.upstream_failed + e.removed AS done
    FROM evidence AS e
    JOIN defined_task AS t ON t.dag_no = e.dag_no AND t.task_no = e.task_no
    OFFSET 0
),
judged AS (
    SELECT
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
    OFFSET 0
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
    OFFSET 0
),
decided AS (
    SELECT
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
    w.dag_id, w.run_id, d.task_id, d.map_index, d.is_placeholder, d.state, d.trigger_rule, d.decision,
    d.reason, d.expected, d.success, d.skipped, d.failed, d.upstream_failed, d.removed,
    d.setups, d.setups_success, d.setups_skipped,
    d.indirect AS indirect_setups, d.indirect_success AS indirect_setups_success, d.scope_open
FROM decided AS d
JOIN wanted AS w ON w.run_no = d.run_no
WHERE CAST(:waiting AS boolean) OR d.decision <> 'wait'
ORDER BY d.run_no, d.task_no, d.map_index
