-- name: parsing/take_requests
-- version: 1
-- purpose: Hand all that waits for the files over to the claims on them, whatever its lane.
-- result: count
-- param file_ids: json; [file_id, ...]
-- locks: the parse requests
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/take_files
-- limits: none
-- server: 8.4
-- origin: hand-written: each engine takes a list apart in its own way

UPDATE /*+ INDEX(r ix_parse_request_file) */ JSON_TABLE(:file_ids, '$[*]' COLUMNS (file_id BIGINT PATH '$')) AS j
STRAIGHT_JOIN parse_request AS r ON r.file_id = j.file_id
SET r.taken = TRUE
WHERE r.taken = FALSE
