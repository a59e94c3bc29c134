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
-- server: 15
-- origin: hand-written: an upsert

INSERT INTO task_expansion (dag_id, run_id, node_id, length, size)
SELECT :dag_id, :run_id, j.node_id, j.length, j.size
FROM jsonb_to_recordset(CAST(:nodes AS jsonb)) AS j (node_id text, length integer, size integer)
ON CONFLICT (dag_id, run_id, node_id) DO UPDATE SET length = excluded.length, size = excluded.size
