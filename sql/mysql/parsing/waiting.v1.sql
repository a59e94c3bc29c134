-- name: parsing/waiting
-- version: 1
-- purpose: What waits in the lanes, in the order in which it will be served.
-- result: rows
-- param page_size: integer; most rows of each lane
-- param now: timestamp; the time to go by; NULL = the database's clock
-- column lane: text
-- column bundle: text
-- column path: text
-- column kind: text; of the first arrival
-- column merged: integer; repeats that joined it
-- column age_ms: integer; milliseconds since the first arrival
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: files that are being parsed now are passed over until that is finished
-- server: 8.4
-- origin: hand-written: each engine keeps its index in order in its own way

WITH lane AS (
    SELECT 'requested' COLLATE utf8mb4_0900_bin AS lane, 1 AS place
    UNION ALL
    SELECT 'priority', 2
    UNION ALL
    SELECT 'standard', 3
)
SELECT
    l.lane, f.bundle, f.path, w.kind, w.merged,
    GREATEST(
        TIMESTAMPDIFF(MICROSECOND, w.enqueued_at, COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6))) DIV 1000,
        0
    ) AS age_ms
FROM lane AS l
STRAIGHT_JOIN LATERAL (
    SELECT r.file_id, r.kind, r.merged, r.enqueued_at, r.line, r.request_id
    FROM parse_request AS r
    WHERE r.lane = l.lane AND r.taken = FALSE
    ORDER BY r.taken, r.lane, r.line, r.request_id
    LIMIT :page_size
) AS w
STRAIGHT_JOIN dag_file AS f ON f.file_id = w.file_id
ORDER BY l.place, w.line, w.request_id
