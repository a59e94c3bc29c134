-- name: upstream/counts
-- version: 1
-- purpose: Task instances of tasks in some runs, by state; setups are marked.
-- result: rows
-- param runs: json; [{"dag_id", "run_id"}, ...], each run once
-- param task_ids: json; the tasks to count, in every run; NULL = all
-- column dag_id: text
-- column run_id: text
-- column task_id: text
-- column is_setup: boolean; the task is a setup
-- column state: text; NULL = not scheduled yet
-- column instances: integer; task instances of the task in this run and state
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: none; reads task_instance by an index that holds all it needs
-- server: 15
-- origin: generated: selectq.generate.upstream.counts, by 'selectq sql generate'; edit that, not this file

WITH given AS (
    SELECT
        j.dag_id,
        j.run_id
    FROM JSONB_TO_RECORDSET(CAST(:runs AS JSONB)) AS j(dag_id TEXT, run_id TEXT)
),
listed AS (
    SELECT
        j.task_id
    FROM JSONB_ARRAY_ELEMENTS_TEXT(CAST(:task_ids AS JSONB)) AS j(task_id)
),
counted AS (
    SELECT
        task_instance.dag_id,
        task_instance.run_id,
        task_instance.task_id,
        task_instance.state,
        COUNT(*) AS instances
    FROM given
    JOIN task_instance
        ON task_instance.dag_id = given.dag_id
        AND task_instance.run_id = given.run_id
    WHERE
        CAST(:task_ids AS TEXT) IS NULL
        OR task_instance.task_id IN (
            SELECT
                listed.task_id
            FROM listed
        )
    GROUP BY
        task_instance.dag_id,
        task_instance.run_id,
        task_instance.task_id,
        task_instance.state
)
SELECT
    counted.dag_id,
    counted.run_id,
    counted.task_id,
    COALESCE(task.is_setup, FALSE) AS is_setup,
    counted.state,
    counted.instances
FROM counted
LEFT OUTER JOIN task
    ON task.dag_id = counted.dag_id
    AND task.task_id = counted.task_id
