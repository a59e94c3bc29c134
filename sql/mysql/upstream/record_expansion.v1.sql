-- name: upstream/record_expansion
-- version: 1
-- purpose: Write down how long mapped tasks and groups are in a run.
-- result: count
-- param dag_id: text
-- param run_id: text
-- param nodes: json; [{"node_id", "length", "size"}, ...]: length of its own, and instances in all
-- locks: the task expansions
-- isolation: READ COMMITTED, after upstream/lock_run in the same transaction: two that expand the same run take turns
-- limits: none
-- server: 8.4
-- origin: hand-written: an upsert

INSERT INTO task_expansion (dag_id, run_id, node_id, length, size)
SELECT :dag_id, :run_id, j.node_id, j.length, j.size
FROM JSON_TABLE(:nodes, '$[*]' COLUMNS (
    node_id VARCHAR(250) PATH '$.node_id',
    length INT PATH '$.length',
    size INT PATH '$.size'
)) AS j
ON DUPLICATE KEY UPDATE length = j.length, size = j.size
