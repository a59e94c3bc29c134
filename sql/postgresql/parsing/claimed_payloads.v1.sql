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
-- server: 15
-- origin: hand-written: each engine takes a list apart in its own way

SELECT r.file_id, p.kind, p.payload
FROM jsonb_array_elements_text(CAST(:file_ids AS jsonb)) AS i (file_id)
CROSS JOIN LATERAL (
    SELECT file_id, request_id
    FROM parse_request
    WHERE parse_request.file_id = CAST(i.file_id AS bigint) AND parse_request.taken
    OFFSET 0
) AS r
CROSS JOIN LATERAL (
    SELECT q.payload_id, q.kind, q.payload
    FROM parse_payload AS q
    WHERE q.request_id = r.request_id
    ORDER BY q.payload_id
) AS p
ORDER BY p.payload_id
