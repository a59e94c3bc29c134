-- name: parsing/take_requests
-- version: 1
-- purpose: Hand all that waits for the files over to the claims on them, whatever its lane.
-- result: count
-- param file_ids: json; [file_id, ...]
-- locks: the parse requests
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/take_files
-- limits: none
-- server: 15
-- origin: hand-written: each engine takes a list apart in its own way

UPDATE parse_request AS r
SET taken = TRUE
WHERE
    r.file_id = any(array(SELECT CAST(e AS bigint) FROM jsonb_array_elements_text(CAST(:file_ids AS jsonb)) AS e))
    AND NOT r.taken
