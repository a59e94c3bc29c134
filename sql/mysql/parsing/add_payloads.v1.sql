-- name: parsing/add_payloads
-- version: 1
-- purpose: Keep the payloads of callbacks with the requests that wait for them.
-- result: count
-- param payloads: json; [{"file_id", "lane", "kind", "payload"}, ...], in the order of arrival; a payload is text
-- locks: the parse payloads: the new rows
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/add_requests
-- limits: none; all are kept
-- server: 8.4
-- origin: hand-written: each engine takes a list apart in its own way

INSERT INTO parse_payload (request_id, kind, payload)
SELECT r.request_id, j.kind, j.payload
FROM JSON_TABLE(:payloads, '$[*]' COLUMNS (
    place FOR ORDINALITY,
    file_id BIGINT PATH '$.file_id',
    lane VARCHAR(10) PATH '$.lane',
    kind VARCHAR(20) PATH '$.kind',
    payload LONGTEXT PATH '$.payload'
)) AS j
STRAIGHT_JOIN parse_request AS r
    ON r.file_id = j.file_id AND r.lane = j.lane COLLATE utf8mb4_0900_bin AND r.taken = FALSE
ORDER BY j.place
