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

WITH moved AS (
    SELECT t.request_id AS taken_id, n.request_id AS waiting_id
    FROM jsonb_array_elements_text(CAST(:file_ids AS jsonb)) AS i (file_id)
    CROSS JOIN LATERAL (
        SELECT file_id, lane, request_id
        FROM parse_request
        WHERE parse_request.file_id = CAST(i.file_id AS bigint) AND parse_request.taken
        OFFSET 0
    ) AS t
    CROSS JOIN LATERAL (
        SELECT request_id
        FROM parse_request
        WHERE parse_request.file_id = t.file_id AND parse_request.lane = t.lane AND NOT parse_request.taken
        OFFSET 0
    ) AS n
)
UPDATE parse_payload AS p
SET request_id = m.waiting_id
FROM moved AS m
WHERE p.request_id = m.taken_id AND p.request_id = any(array(SELECT taken_id FROM moved))
