-- name: selection/usage_by_task
-- version: 1
-- purpose: Active task instances of every task in a run that has some, against both task limits.
-- result: rows
-- column dag_id: text
-- column run_id: text
-- column task_id: text
-- column used_in_run: integer; task instances of the task in this run
-- column capacity_in_run: integer; max_active_tis_per_dagrun; NULL = no limit
-- column used_over_runs: integer; task instances of the task in all runs
-- column capacity_over_runs: integer; max_active_tis_per_dag; NULL = no limit
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: queued, running and deferred task instances
-- server: 15
-- origin: generated: selectq.generate.usage.usage_by_task, by 'selectq sql generate'; edit that, not this file

WITH active AS (
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
used_by_task AS (
    SELECT
        active.dag_id,
        active.task_id,
        COUNT(*) AS used
    FROM active
    GROUP BY
        active.dag_id,
        active.task_id
)
SELECT
    used_by_task_in_run.dag_id,
    used_by_task_in_run.run_id,
    used_by_task_in_run.task_id,
    used_by_task_in_run.used AS used_in_run,
    task.max_active_tis_per_dagrun AS capacity_in_run,
    used_by_task.used AS used_over_runs,
    task.max_active_tis_per_dag AS capacity_over_runs
FROM used_by_task_in_run
JOIN used_by_task
    ON used_by_task.dag_id = used_by_task_in_run.dag_id
    AND used_by_task.task_id = used_by_task_in_run.task_id
LEFT OUTER JOIN task
    ON task.dag_id = used_by_task_in_run.dag_id
    AND task.task_id = used_by_task_in_run.task_id
ORDER BY
    used_by_task_in_run.dag_id,
    used_by_task_in_run.run_id,
    used_by_task_in_run.task_id
