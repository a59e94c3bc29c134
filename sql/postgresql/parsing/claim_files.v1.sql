-- name: parsing/claim_files
-- version: 1
-- purpose: Choose and lock the next files: requested ones, the priority lane within its slots, the standard lane, the
--   rest.
-- result: rows, in the order of their turn
-- param slots: integer; most files
-- param priority_slots: integer; as parsing/turn returned it
-- param page: integer; requests to read of a lane, three times slots: others may take the first of them
-- param min_interval_ms: integer; min_file_process_interval in milliseconds
-- param now: timestamp; the time to go by; NULL = the database's clock
-- column file_id: integer
-- column bundle: text
-- column path: text
-- column lane: text; whose turn the file takes
-- column parse: boolean; the file is to be parsed; false = it is read for callbacks alone
-- locks: the dag files, FOR UPDATE SKIP LOCKED: one that somebody else is changing is left for the next claim
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/turn
-- limits: one claim per file at a time
-- server: 15
-- origin: hand-written: each engine finds the waiting requests of unclaimed files in its own way

WITH requested AS MATERIALIZED (
    SELECT r.file_id, r.request_id
    FROM parse_request AS r
    WHERE
        r.lane = 'requested' AND NOT r.taken
        AND (SELECT f.claimed_at FROM dag_file AS f WHERE f.file_id = r.file_id) IS NULL
    ORDER BY r.line, r.request_id
    LIMIT :slots
),
priority_head AS MATERIALIZED (
    SELECT r.file_id, r.line, r.request_id
    FROM parse_request AS r
    WHERE
        r.lane = 'priority' AND NOT r.taken
        AND (SELECT f.claimed_at FROM dag_file AS f WHERE f.file_id = r.file_id) IS NULL
    ORDER BY r.line, r.request_id
    LIMIT :page
),
standard_head AS MATERIALIZED (
    SELECT r.file_id, r.line, r.request_id
    FROM parse_request AS r
    WHERE
        r.lane = 'standard' AND NOT r.taken
        AND (SELECT f.claimed_at FROM dag_file AS f WHERE f.file_id = r.file_id) IS NULL
    ORDER BY r.line, r.request_id
    LIMIT :page
),
priority AS (
    SELECT h.file_id, row_number() OVER (ORDER BY h.line, h.request_id) AS place
    FROM priority_head AS h
    WHERE h.file_id NOT IN (SELECT file_id FROM requested)
),
wish AS (
    SELECT file_id, 'requested' AS lane, 0 AS precedence, request_id AS place
    FROM requested
    UNION ALL
    SELECT file_id, 'priority', CASE WHEN place <= :priority_slots THEN 1 ELSE 3 END, place
    FROM priority
    UNION ALL
    SELECT file_id, 'standard', 2, row_number() OVER (ORDER BY line, request_id)
    FROM standard_head
),
-- A file may wait in several lanes; it is claimed once, by the lane whose turn comes first.
first_wish AS (
    SELECT w.*, row_number() OVER (PARTITION BY w.file_id ORDER BY w.precedence, w.place) AS nth
    FROM wish AS w
),
chosen AS (
    SELECT file_id, lane, precedence, place
    FROM first_wish
    WHERE nth = 1
    ORDER BY precedence, place
    LIMIT :slots
)
SELECT
    f.file_id,
    f.bundle,
    f.path,
    c.lane,
    EXISTS (SELECT 1 FROM parse_request AS r WHERE r.file_id = f.file_id AND NOT r.taken AND r.parse)
    OR f.read_at IS NULL
    OR f.last_parse_end <= coalesce(CAST(:now AS timestamptz), statement_timestamp())
    - CAST(:min_interval_ms AS bigint) * interval '1 millisecond'
    OR f.last_parse_end > coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS parse
FROM chosen AS c
JOIN dag_file AS f ON f.file_id = c.file_id
WHERE f.claimed_at IS NULL
ORDER BY c.precedence, c.place
FOR NO KEY UPDATE OF f SKIP LOCKED
