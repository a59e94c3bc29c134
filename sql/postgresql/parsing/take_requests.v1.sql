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

WITH wanted AS (
    SELECT CAST(i.file_id AS bigint) AS file_id, l.lane, l.taken
    FROM jsonb_array_elements_text(CAST(:file_ids AS jsonb)) AS i (file_id)
    CROSS JOIN (VALUES ('requested', FALSE), ('priority', FALSE), ('standard', FALSE)) AS l (lane, taken)
)
UPDATE parse_request AS r
SET taken = TRUE
FROM wanted AS w
WHERE r.file_id = w.file_id AND r.lane = w.lane AND r.taken = w.taken
