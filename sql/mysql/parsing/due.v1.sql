-- name: parsing/due
-- version: 1
-- purpose: The files that a scan has found and that are due to be parsed, whether they wait already or not.
-- result: rows, by bundle and path
-- param min_interval_ms: integer; min_file_process_interval in milliseconds
-- param now: timestamp; the time to go by; NULL = the database's clock
-- column bundle: text
-- column path: text
-- column read_at: timestamp; last parse or callback; NULL = never parsed, or changed since
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: never parsed, changed since the last parse, min_file_process_interval since the last parse or callback, or
--   read after now: the clock was set back
-- server: 8.4
-- origin: hand-written: the clocks differ

SELECT f.bundle, f.path, f.read_at
FROM dag_file AS f
WHERE
    f.mtime IS NOT NULL
    AND (
        f.read_at IS NULL
        OR f.read_at <= COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6))
        - INTERVAL 1000 * :min_interval_ms MICROSECOND
        OR f.read_at > COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6))
    )
ORDER BY f.bundle, f.path
