-- name: parsing/claimed_payloads
-- version: 1
-- purpose: The payloads of the callbacks that claims have taken over, oldest first.
-- result: rows
-- param file_ids: json; [file_id, ...]
-- column file_id: integer
-- column kind: text; dag_callback or sla_callback
-- column payload: text; JSON, as it was given
-- locks: none
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/take_requests, whose locks keep new ones away
-- limits: none; all are delivered
-- server: 8.4
-- origin: hand-written: each engine takes a list apart in its own way

SELECT /*+ INDEX(r ix_parse_request_file) INDEX(p ix_parse_payload_request_id) */
    r.file_id, p.kind, p.payload
FROM JSON_TABLE(:file_ids, '$[*]' COLUMNS (file_id BIGINT PATH '$')) AS j
STRAIGHT_JOIN parse_request AS r ON r.file_id = j.file_id AND r.taken = TRUE
STRAIGHT_JOIN parse_payload AS p ON p.request_id = r.request_id
ORDER BY p.payload_id
