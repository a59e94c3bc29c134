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
-- server: 8.4
-- origin: hand-written: each engine finds the waiting requests of unclaimed files in its own way

WITH requested AS (
    SELECT r.file_id, r.request_id
    FROM parse_request AS r
    WHERE
        r.taken = FALSE AND r.lane = 'requested'
        AND (SELECT f.claimed_at FROM dag_file AS f WHERE f.file_id = r.file_id) IS NULL
    ORDER BY r.taken, r.lane, r.line, r.request_id
    LIMIT :slots
),
priority_head AS (
    SELECT r.file_id, r.line, r.request_id
    FROM parse_request AS r
    WHERE
        r.taken = FALSE AND r.lane = 'priority'
        AND (SELECT f.claimed_at FROM dag_file AS f WHERE f.file_id = r.file_id) IS NULL
    ORDER BY r.taken, r.lane, r.line, r.request_id
    LIMIT :page
),
standard_head AS (
    SELECT r.file_id, r.line, r.request_id
    FROM parse_request AS r
    WHERE
        r.taken = FALSE AND r.lane = 'standard'
        AND (SELECT f.claimed_at FROM dag_file AS f WHERE f.file_id = r.file_id) IS NULL
    ORDER BY r.taken, r.lane, r.line, r.request_id
    LIMIT :page
),
priority AS (
    SELECT h.file_id, ROW_NUMBER() OVER (ORDER BY h.line, h.request_id) AS place
    FROM priority_head AS h
    WHERE NOT EXISTS (SELECT 1 FROM requested AS q WHERE q.file_id = h.file_id)
),
wish AS (
    SELECT file_id, 'requested' AS lane, 0 AS precedence, request_id AS place
    FROM requested
    UNION ALL
    SELECT file_id, 'priority', CASE WHEN place <= :priority_slots THEN 1 ELSE 3 END, place
    FROM priority
    UNION ALL
    SELECT file_id, 'standard', 2, ROW_NUMBER() OVER (ORDER BY line, request_id)
    FROM standard_head
),
-- A file may wait in several lanes; it is claimed once, by the lane whose turn comes first.
first_wish AS (
    SELECT w.*, ROW_NUMBER() OVER (PARTITION BY w.file_id ORDER BY w.precedence, w.place) AS nth
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
    EXISTS (
        SELECT /*+ INDEX(r ix_parse_request_file) */ 1
        FROM parse_request AS r
        WHERE r.file_id = f.file_id AND r.taken = FALSE AND r.parse
    )
    OR f.read_at IS NULL
    OR f.last_parse_end <= COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6))
    - INTERVAL 1000 * :min_interval_ms MICROSECOND
    OR f.last_parse_end > COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6)) AS parse
FROM chosen AS c
STRAIGHT_JOIN dag_file AS f ON f.file_id = c.file_id
WHERE f.claimed_at IS NULL
ORDER BY c.precedence, c.place
FOR UPDATE OF f SKIP LOCKED
