-- name: parsing/overdue_files
-- version: 1
-- purpose: Lock the files whose claims are older than the timeout: their processors are taken for dead.
-- result: rows
-- param timeout_ms: integer; milliseconds
-- param page_size: integer; most rows
-- param now: timestamp; the time to go by; NULL = the database's clock
-- column file_id: integer
-- locks: the dag files, FOR UPDATE SKIP LOCKED: one that is being finished is left alone
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/rebase_claims
-- limits: none
-- server: 8.4
-- origin: hand-written: the clocks differ

SELECT file_id
FROM dag_file
WHERE claimed_at <= COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6)) - INTERVAL 1000 * :timeout_ms MICROSECOND
ORDER BY claimed_at, file_id
LIMIT :page_size
FOR UPDATE SKIP LOCKED
