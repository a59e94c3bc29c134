-- name: parsing/put_back
-- version: 1
-- purpose: Let what claims on the files had taken over wait again, at the back of its lanes.
-- result: count
-- param file_ids: json; [file_id, ...]
-- locks: the parse requests: new rows, and those that are joined
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/overdue_files
-- limits: one request waits per file and lane
-- server: 8.4
-- origin: hand-written: an upsert, which each engine words in its own way

INSERT INTO parse_request (file_id, lane, line, kind, parse, refill, enqueued_at, merged)
SELECT t.file_id, t.lane, 1, t.kind, t.parse, t.refill, t.enqueued_at, t.merged
FROM (
    SELECT /*+ INDEX(r ix_parse_request_file) */
        r.request_id, r.file_id, r.lane, r.kind, r.parse, r.refill, r.enqueued_at, r.merged
    FROM JSON_TABLE(:file_ids, '$[*]' COLUMNS (file_id BIGINT PATH '$')) AS j
    STRAIGHT_JOIN parse_request AS r ON r.file_id = j.file_id
    WHERE r.taken = TRUE
    LIMIT 1000000
) AS t
ORDER BY t.request_id
ON DUPLICATE KEY UPDATE
    parse = parse_request.parse OR t.parse,
    refill = COALESCE(parse_request.refill, t.refill),
    enqueued_at = LEAST(parse_request.enqueued_at, t.enqueued_at),
    merged = parse_request.merged + t.merged + 1
