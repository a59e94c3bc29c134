-- name: parsing/release_files
-- version: 1
-- purpose: Take the claims off the files.
-- result: count
-- param file_ids: json; [file_id, ...]
-- param given_back: integer; 1 if the claims are given back, 0 if they are done
-- locks: the dag files, which are locked already
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/drop_requests
-- limits: none
-- server: 8.4
-- origin: hand-written: each engine takes a list apart in its own way

UPDATE JSON_TABLE(:file_ids, '$[*]' COLUMNS (file_id BIGINT PATH '$')) AS j
STRAIGHT_JOIN dag_file AS f ON f.file_id = j.file_id
SET
    f.claim_token = NULL,
    f.claimed_at = NULL,
    f.claimed_by = NULL,
    f.claim_parses = NULL,
    f.given_back = f.given_back + :given_back
