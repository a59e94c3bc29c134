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
-- server: 15
-- origin: hand-written: an upsert, which each engine words in its own way

INSERT INTO parse_request (file_id, lane, line, kind, parse, refill, enqueued_at)
SELECT
    f.file_id,
    'standard',
    CASE WHEN f.last_parse_end IS NULL THEN 0 ELSE 1 END,
    'disk',
    TRUE,
    (SELECT s.refills + 1 FROM parse_state AS s WHERE s.state_id = 1),
    coalesce(CAST(:now AS timestamptz), statement_timestamp())
FROM dag_file AS f
WHERE
    NOT EXISTS (SELECT 1 FROM parse_request AS r WHERE NOT r.taken AND r.refill IS NOT NULL)
    AND f.mtime IS NOT NULL
    AND (
        f.read_at IS NULL
        OR f.read_at <= coalesce(CAST(:now AS timestamptz), statement_timestamp())
        - CAST(:min_interval_ms AS bigint) * interval '1 millisecond'
        OR f.read_at > coalesce(CAST(:now AS timestamptz), statement_timestamp())
    )
    AND NOT coalesce(
        f.claimed_at IS NOT NULL AND f.claim_parses
        AND (f.mtime, f.digest) IS NOT DISTINCT FROM (f.parsed_mtime, f.parsed_digest),
        FALSE
    )
ORDER BY f.read_at NULLS FIRST, f.bundle, f.path
ON CONFLICT (file_id, lane, taken) DO UPDATE
SET parse = TRUE, refill = excluded.refill
