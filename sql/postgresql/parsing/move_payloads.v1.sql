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

UPDATE parse_payload AS p
SET request_id = w.request_id
FROM parse_request AS t
JOIN parse_request AS w ON w.file_id = t.file_id AND w.lane = t.lane AND NOT w.taken
WHERE
    t.taken
    AND t.file_id IN (SELECT CAST(e AS bigint) FROM jsonb_array_elements_text(CAST(:file_ids AS jsonb)) AS e)
    AND p.request_id = t.request_id
