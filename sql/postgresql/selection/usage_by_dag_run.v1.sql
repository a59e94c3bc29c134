-- name: selection/usage_by_dag_run
-- version: 1
-- purpose: Active task instances of every dag run that has some, against max_active_tasks.
-- result: rows
-- column dag_id: text
-- column run_id: text
-- column used: integer; task instances
-- column capacity: integer; max_active_tasks
-- column free: integer; below 0 where the limit was lowered
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: queued and running task instances of one dag run
-- server: 15
-- origin: generated: selectq.generate.usage.usage_by_dag_run, by 'selectq sql generate'; edit that, not this file

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
)
SELECT
    used_by_run.dag_id,
    used_by_run.run_id,
    used_by_run.used,
    dag.max_active_tasks AS capacity,
    dag.max_active_tasks - used_by_run.used AS free
FROM used_by_run
JOIN dag
    ON dag.dag_id = used_by_run.dag_id
ORDER BY
    used_by_run.dag_id,
    used_by_run.run_id
