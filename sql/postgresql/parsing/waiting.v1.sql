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
-- server: 15
-- origin: hand-written: each engine keeps its index in order in its own way

WITH clock AS (
    SELECT coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS now
),
lane AS (
    SELECT l.lane, l.place
    FROM (VALUES ('requested', 1), ('priority', 2), ('standard', 3)) AS l (lane, place)
)
SELECT
    l.lane, f.bundle, f.path, w.kind, w.merged,
    CAST(greatest(extract(EPOCH FROM c.now - w.enqueued_at), 0) * 1000 AS bigint) AS age_ms
FROM lane AS l
CROSS JOIN clock AS c
CROSS JOIN LATERAL (
    SELECT r.file_id, r.kind, r.merged, r.enqueued_at, r.line, r.request_id
    FROM parse_request AS r
    WHERE r.lane = l.lane AND NOT r.taken
    ORDER BY r.line, r.request_id
    LIMIT :page_size
) AS w
JOIN dag_file AS f ON f.file_id = w.file_id
ORDER BY l.place, w.line, w.request_id
