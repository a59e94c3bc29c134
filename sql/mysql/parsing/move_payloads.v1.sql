-- name: parsing/move_payloads
-- version: 1
-- purpose: Let the payloads that claims on the files had taken over wait with what parsing/put_back made.
-- result: count
-- param file_ids: json; [file_id, ...]
-- locks: the parse payloads
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/put_back
-- limits: none; all are kept, in order
-- server: 8.4
-- origin: hand-written: UPDATE ... FROM, which MySQL words as a join

UPDATE /*+ INDEX(t ix_parse_request_file) INDEX(p ix_parse_payload_request_id) */
    JSON_TABLE(:file_ids, '$[*]' COLUMNS (file_id BIGINT PATH '$')) AS j
STRAIGHT_JOIN parse_request AS t ON t.file_id = j.file_id AND t.taken = TRUE
STRAIGHT_JOIN parse_request AS w ON w.file_id = t.file_id AND w.lane = t.lane AND w.taken = FALSE
STRAIGHT_JOIN parse_payload AS p ON p.request_id = t.request_id
SET p.request_id = w.request_id
