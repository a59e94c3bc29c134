-- name: parsing/put_back
-- version: 1
-- purpose: Let what claims on the files had taken over wait again, at the back of its lanes.
-- result: count
-- param file_ids: json; [file_id, ...]
-- locks: the parse requests: new rows, and those that are joined
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/overdue_files
-- limits: one request waits per file and lane
-- server: 15
-- origin: hand-written: an upsert, which each engine words in its own way

INSERT INTO parse_request (file_id, lane, line, kind, parse, refill, enqueued_at, merged)
SELECT r.file_id, r.lane, 1, r.kind, r.parse, r.refill, r.enqueued_at, r.merged
FROM jsonb_array_elements_text(CAST(:file_ids AS jsonb)) AS i (file_id)
CROSS JOIN LATERAL (
    SELECT request_id, file_id, lane, kind, parse, refill, enqueued_at, merged
    FROM parse_request
    WHERE parse_request.file_id = CAST(i.file_id AS bigint) AND parse_request.taken
    OFFSET 0
) AS r
ORDER BY r.request_id
ON CONFLICT (file_id, lane, taken) DO UPDATE
SET
    parse = parse_request.parse OR excluded.parse,
    refill = coalesce(parse_request.refill, excluded.refill),
    enqueued_at = least(parse_request.enqueued_at, excluded.enqueued_at),
    merged = parse_request.merged + excluded.merged + 1
