-- name: parsing/lanes
-- version: 1
-- purpose: Depth and oldest age of each lane.
-- result: rows, in the order in which the lanes are served
-- param now: timestamp; the time to go by; NULL = the database's clock
-- column lane: text
-- column depth: integer; requests that wait
-- column oldest_age_ms: integer; milliseconds since the first arrival; NULL = nothing waits
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: none
-- server: 8.4
-- origin: hand-written: the clocks differ

WITH lane AS (
    SELECT 'requested' COLLATE utf8mb4_0900_bin AS lane, 1 AS place
    UNION ALL
    SELECT 'priority', 2
    UNION ALL
    SELECT 'standard', 3
)
SELECT
    l.lane,
    COUNT(r.request_id) AS depth,
    GREATEST(
        TIMESTAMPDIFF(MICROSECOND, MIN(r.enqueued_at), COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6))) DIV 1000,
        0
    ) AS oldest_age_ms
FROM lane AS l
LEFT JOIN parse_request AS r ON r.lane = l.lane AND r.taken = FALSE
GROUP BY l.lane, l.place
ORDER BY l.place
