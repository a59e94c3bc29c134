-- name: parsing/refill
-- version: 1
-- purpose: Queue every file that a scan has found and that is due, if no file of the last refill waits any more.
-- result: count
-- param min_interval_ms: integer; min_file_process_interval in milliseconds
-- param now: timestamp; the time to go by; NULL = the database's clock
-- locks: the parse requests: new rows, and those that are joined
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/lock_state
-- limits: one request waits per file and lane; a version that is being parsed now is not asked for again
-- server: 8.4
-- origin: hand-written: an upsert, which each engine words in its own way

INSERT INTO parse_request (file_id, lane, line, kind, parse, refill, enqueued_at)
SELECT d.file_id, 'standard', d.line, 'disk', TRUE, d.refill, d.enqueued_at
FROM (
    SELECT
        f.file_id,
        f.bundle,
        f.path,
        f.read_at,
        IF(f.last_parse_end IS NULL, 0, 1) AS line,
        (SELECT s.refills + 1 FROM parse_state AS s WHERE s.state_id = 1) AS refill,
        COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6)) AS enqueued_at
    FROM dag_file AS f
    WHERE
        NOT EXISTS (
            SELECT /*+ INDEX(r ix_parse_request_outstanding) */ 1
            FROM parse_request AS r
            WHERE r.taken = FALSE AND r.refill > 0
        )
        AND f.mtime IS NOT NULL
        AND (
            f.read_at IS NULL
            OR f.read_at <= COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6))
            - INTERVAL 1000 * :min_interval_ms MICROSECOND
            OR f.read_at > COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6))
        )
        AND NOT COALESCE(
            f.claimed_at IS NOT NULL AND f.claim_parses
            AND f.mtime <=> f.parsed_mtime AND f.digest <=> f.parsed_digest,
            FALSE
        )
    LIMIT 1000000000
) AS d
ORDER BY d.read_at, d.bundle, d.path
ON DUPLICATE KEY UPDATE parse = TRUE, refill = d.refill
