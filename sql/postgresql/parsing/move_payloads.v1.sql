-- name: parsing/move_payloads
-- version: 1
-- purpose: Let the payloads that claims on the files had taken over wait with what parsing/put_back made.
-- result: count
-- param file_ids: json; [file_id, ...]
-- locks: the parse payloads
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/put_back
-- limits: none; all are kept, in order
-- server: 15
-- origin: hand-written: UPDATE ... FROM, which MySQL words as a join

WITH wanted AS (
    SELECT CAST(i.file_id AS bigint) AS file_id, l.lane, l.taken
    FROM jsonb_array_elements_text(CAST(:file_ids AS jsonb)) AS i (file_id)
    CROSS JOIN (VALUES ('requested', TRUE), ('priority', TRUE), ('standard', TRUE)) AS l (lane, taken)
),
moved AS (
    SELECT t.request_id AS taken_id, n.request_id AS waiting_id
    FROM wanted AS w
    JOIN parse_request AS t ON t.file_id = w.file_id AND t.lane = w.lane AND t.taken = w.taken
    JOIN parse_request AS n ON n.file_id = w.file_id AND n.lane = w.lane AND n.taken <> w.taken
)
UPDATE parse_payload AS p
SET request_id = m.waiting_id
FROM moved AS m
WHERE p.request_id = m.taken_id
