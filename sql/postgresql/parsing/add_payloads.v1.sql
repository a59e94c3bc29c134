-- name: parsing/add_payloads
-- version: 1
-- purpose: Keep the payloads of callbacks with the requests that wait for them.
-- result: count
-- param payloads: json; [{"file_id", "lane", "kind", "payload"}, ...], in the order of arrival; a payload is text
-- locks: the parse payloads: the new rows
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/add_requests
-- limits: none; all are kept
-- server: 15
-- origin: hand-written: each engine takes a list apart in its own way

INSERT INTO parse_payload (request_id, kind, payload)
SELECT r.request_id, j.kind, j.payload
FROM ROWS FROM (
    jsonb_to_recordset(CAST(:payloads AS jsonb)) AS (file_id bigint, lane text, kind text, payload text)
) WITH ORDINALITY AS j (file_id, lane, kind, payload, place)
CROSS JOIN LATERAL (
    SELECT request_id
    FROM parse_request
    WHERE parse_request.file_id = j.file_id AND parse_request.lane = j.lane AND NOT parse_request.taken
    OFFSET 0
) AS r
ORDER BY j.place
