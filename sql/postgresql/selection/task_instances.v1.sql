-- name: selection/task_instances
-- version: 1
-- purpose: Task instances of one task in one run, whatever their state.
-- result: rows
-- param dag_id: text
-- param run_id: text
-- param task_id: text
-- param map_index: integer; NULL = all
-- param page_size: integer; most task instances to return, at least 1
-- column dag_id: text
-- column run_id: text
-- column task_id: text
-- column map_index: integer; -1 = not mapped
-- column state: text; NULL = not scheduled yet
-- column pool: text
-- column pool_slots: integer
-- column priority_weight: integer
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: none
-- server: 15
-- origin: generated: selectq.generate.lookup.task_instances, by 'selectq sql generate'; edit that, not this file

SELECT
    task_instance.dag_id,
    task_instance.run_id,
    task_instance.task_id,
    task_instance.map_index,
    task_instance.state,
    task_instance.pool,
    task_instance.pool_slots,
    task_instance.priority_weight
FROM task_instance
WHERE
    task_instance.dag_id = CAST(:dag_id AS TEXT)
    AND task_instance.run_id = CAST(:run_id AS TEXT)
    AND task_instance.task_id = CAST(:task_id AS TEXT)
    AND (
        CAST(:map_index AS INT) IS NULL
        OR task_instance.map_index = CAST(:map_index AS INT)
    )
ORDER BY
    task_instance.map_index
LIMIT CAST(:page_size AS INT)
