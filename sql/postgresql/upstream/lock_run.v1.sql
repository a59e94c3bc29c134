-- name: upstream/lock_run
-- version: 1
-- purpose: Let one at a time expand what is mapped in a dag run.
-- result: rows
-- param dag_id: text
-- param run_id: text
-- column state: text
-- locks: the dag run's row in dag runs, FOR NO KEY UPDATE
-- isolation: READ COMMITTED
-- limits: none
-- server: 15
-- origin: hand-written: the engines lock by other words

SELECT state
FROM dag_run
WHERE dag_id = :dag_id AND run_id = :run_id
FOR NO KEY UPDATE
