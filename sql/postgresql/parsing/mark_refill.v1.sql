-- name: parsing/mark_refill
-- version: 1
-- purpose: Count a refill that has queued something.
-- result: count
-- param now: timestamp; the time to go by; NULL = the database's clock
-- locks: the parse states
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/refill
-- limits: none
-- server: 15
-- origin: hand-written: the clocks differ

UPDATE parse_state
SET
    refills = refills + 1,
    refilled_at = coalesce(CAST(:now AS timestamptz), statement_timestamp())
WHERE state_id = 1
