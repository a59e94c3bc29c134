-- name: parsing/set_turn
-- version: 1
-- purpose: Keep what parsing/turn decided.
-- result: count
-- param share_credit: integer; as parsing/turn returned it, like the others
-- param waits_since: timestamp
-- param breather_at: timestamp
-- param breather_up_to: integer
-- param breathers: integer
-- locks: the parse states
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/turn
-- limits: none
-- server: 8.4
-- origin: hand-written: it is one line

UPDATE parse_state
SET
    share_credit = :share_credit,
    waits_since = :waits_since,
    breather_at = :breather_at,
    breather_up_to = :breather_up_to,
    breathers = :breathers
WHERE state_id = 1
