-- name: parsing/rebase_claims
-- version: 1
-- purpose: Let claims from after now begin now: the clock was set back, and they would be kept for too long.
-- result: count
-- param now: timestamp; the time to go by; NULL = the database's clock
-- locks: the dag files
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), before
--   parsing/overdue_files
-- limits: none
-- server: 8.4
-- origin: hand-written: the clocks differ

UPDATE dag_file
SET claimed_at = COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6))
WHERE claimed_at > COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6))
