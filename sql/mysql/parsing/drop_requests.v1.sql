-- name: parsing/drop_requests
-- version: 1
-- purpose: Drop what claims on the files had taken over; payloads go with it.
-- result: count
-- param file_ids: json; [file_id, ...]
-- locks: the parse requests and their payloads
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/finish_files or parsing/move_payloads
-- limits: none
-- server: 8.4
-- origin: hand-written: each engine takes a list apart in its own way

DELETE /*+ INDEX(r ix_parse_request_file) */ r
FROM JSON_TABLE(:file_ids, '$[*]' COLUMNS (file_id BIGINT PATH '$')) AS j
STRAIGHT_JOIN parse_request AS r ON r.file_id = j.file_id
WHERE r.taken = TRUE
