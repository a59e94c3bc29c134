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
-- server: 15
-- origin: hand-written: an upsert, which each engine words in its own way

WITH arrival AS (
    SELECT j.file_id, j.lane, min(j.kind) AS kind, count(*) AS arrivals, min(j.place) AS place
    FROM ROWS FROM (
        jsonb_to_recordset(CAST(:arrivals AS jsonb)) AS (file_id bigint, lane text, kind text)
    ) WITH ORDINALITY AS j (file_id, lane, kind, place)
    GROUP BY j.file_id, j.lane
)
INSERT INTO parse_request (file_id, lane, line, kind, parse, enqueued_at, merged)
SELECT
    a.file_id,
    a.lane,
    CASE WHEN a.lane = 'standard' AND f.last_parse_end IS NULL THEN 0 ELSE 1 END,
    a.kind,
    a.lane = 'requested',
    coalesce(CAST(:now AS timestamptz), statement_timestamp()),
    a.arrivals - 1
FROM arrival AS a
CROSS JOIN LATERAL (
    SELECT last_parse_end FROM dag_file WHERE dag_file.file_id = a.file_id OFFSET 0
) AS f
ORDER BY a.place
ON CONFLICT (file_id, lane, taken) DO UPDATE
SET merged = parse_request.merged + excluded.merged + 1
