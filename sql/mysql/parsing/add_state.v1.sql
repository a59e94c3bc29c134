-- name: parsing/add_state
-- version: 1
-- purpose: Make the row that parsing/lock_state locks, if it is not there.
-- result: count
-- locks: the parse states: the new row
-- isolation: READ COMMITTED
-- limits: none
-- server: 8.4
-- origin: hand-written: an upsert, which each engine words in its own way

INSERT INTO parse_state (state_id)
VALUES (1)
ON DUPLICATE KEY UPDATE state_id = 1
