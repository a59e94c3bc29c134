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
-- server: 15
-- origin: hand-written: the clocks differ

WITH clock AS (
    SELECT coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS now
)
SELECT
    l.lane,
    count(r.request_id) AS depth,
    CASE
        WHEN count(r.request_id) > 0
            THEN CAST(greatest(extract(EPOCH FROM max(c.now - r.enqueued_at)), 0) * 1000 AS bigint)
    END AS oldest_age_ms
FROM (VALUES ('requested', 1), ('priority', 2), ('standard', 3)) AS l (lane, place)
CROSS JOIN clock AS c
LEFT JOIN parse_request AS r ON r.lane = l.lane AND NOT r.taken
GROUP BY l.lane, l.place
ORDER BY l.place
