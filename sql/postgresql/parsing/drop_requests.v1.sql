-- name: parsing/drop_requests
-- version: 1
-- purpose: Drop what claims on the files had taken over; payloads go with it.
-- result: count
-- param file_ids: json; [file_id, ...]
-- locks: the parse requests and their payloads
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/finish_files or parsing/move_payloads
-- limits: none
-- server: 15
-- origin: hand-written: each engine takes a list apart in its own way

DELETE FROM parse_request AS r
WHERE
    r.file_id = any(array(SELECT CAST(e AS bigint) FROM jsonb_array_elements_text(CAST(:file_ids AS jsonb)) AS e))
    AND r.taken
