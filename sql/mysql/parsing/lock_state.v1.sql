-- name: parsing/lock_state
-- version: 1
-- purpose: Lock the row that says whose turn it is: one claim, refill, scan or giving back at a time.
-- result: rows
-- column state_id: integer; no row before the first use: parsing/add_state
-- locks: the parse states, FOR UPDATE
-- isolation: READ COMMITTED, first in its transaction: what follows must see what was committed before the lock was
--   granted
-- limits: none
-- server: 8.4
-- origin: hand-written: a lock

SELECT state_id
FROM parse_state
WHERE state_id = 1
FOR UPDATE
