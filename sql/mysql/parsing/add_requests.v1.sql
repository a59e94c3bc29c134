-- name: parsing/add_requests
-- version: 1
-- purpose: Let requests wait, each in its lane; one whose file waits there already joins that and keeps its place.
-- result: count
-- param arrivals: json; [{"file_id", "lane", "kind"}, ...], in the order of arrival
-- param now: timestamp; the time to go by; NULL = the database's clock
-- locks: the parse requests: new rows, and those that are joined
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/lock_files
-- limits: one request waits per file and lane
-- server: 8.4
-- origin: hand-written: an upsert, which each engine words in its own way

INSERT INTO parse_request (file_id, lane, line, kind, parse, enqueued_at, merged)
SELECT a.file_id, a.lane, a.line, a.kind, a.parse, a.enqueued_at, a.merged
FROM (
    SELECT
        j.file_id,
        j.lane,
        IF(j.lane = 'standard' AND MIN(f.last_parse_end) IS NULL, 0, 1) AS line,
        MIN(j.kind) AS kind,
        j.lane = 'requested' AS parse,
        COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6)) AS enqueued_at,
        COUNT(*) - 1 AS merged,
        MIN(j.place) AS place
    FROM JSON_TABLE(:arrivals, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        file_id BIGINT PATH '$.file_id',
        lane VARCHAR(10) PATH '$.lane',
        kind VARCHAR(20) PATH '$.kind'
    )) AS j
    STRAIGHT_JOIN dag_file AS f ON f.file_id = j.file_id
    GROUP BY j.file_id, j.lane
    ORDER BY place
    LIMIT 1000000
) AS a
ORDER BY a.place
ON DUPLICATE KEY UPDATE merged = parse_request.merged + a.merged + 1
