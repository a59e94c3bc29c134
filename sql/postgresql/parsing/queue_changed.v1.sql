-- name: parsing/queue_changed
-- version: 1
-- purpose: Queue the files of a part of a bundle that are new or have changed, behind what waits.
-- result: count
-- param bundle: text
-- param after_hash: text; path_hash of the end of the part before; empty = from the start
-- param up_to_hash: text; path_hash of the end of this part
-- param now: timestamp; the time to go by; NULL = the database's clock
-- locks: the parse requests: new rows, and those that are joined
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/lock_state
-- limits: one request waits per file and lane; a version that is being parsed now is not asked for again
-- server: 15
-- origin: hand-written: an upsert, which each engine words in its own way

INSERT INTO parse_request (file_id, lane, line, kind, parse, enqueued_at)
SELECT
    f.file_id,
    'standard',
    CASE WHEN f.last_parse_end IS NULL THEN 0 ELSE 1 END,
    'disk',
    TRUE,
    coalesce(CAST(:now AS timestamptz), statement_timestamp())
FROM dag_file AS f
WHERE
    f.bundle = :bundle AND f.path_hash > :after_hash AND f.path_hash <= :up_to_hash
    AND f.mtime IS NOT NULL AND f.read_at IS NULL
    AND NOT coalesce(
        f.claimed_at IS NOT NULL AND f.claim_parses
        AND (f.mtime, f.digest) IS NOT DISTINCT FROM (f.parsed_mtime, f.parsed_digest),
        FALSE
    )
ORDER BY f.path
ON CONFLICT (file_id, lane, taken) DO UPDATE
SET parse = TRUE
