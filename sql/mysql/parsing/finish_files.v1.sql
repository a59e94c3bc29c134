-- name: parsing/finish_files
-- version: 1
-- purpose: Write what became of claims: when and how long the file was parsed, error, imported dags.
-- result: count
-- param results: json; [{"file_id", "duration_ms", "error", "dag_ids"}, ...]; duration_ms null = since the claim
-- param now: timestamp; the time to go by; NULL = the database's clock
-- locks: the dag files, which parsing/lock_claims has locked already
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/lock_claims and before parsing/drop_requests
-- limits: none
-- server: 8.4
-- origin: hand-written: UPDATE ... FROM, which MySQL words as a join

UPDATE JSON_TABLE(:results, '$[*]' COLUMNS (
    file_id BIGINT PATH '$.file_id',
    duration_ms BIGINT PATH '$.duration_ms',
    error LONGTEXT PATH '$.error',
    dag_ids JSON PATH '$.dag_ids'
)) AS j
STRAIGHT_JOIN LATERAL (
    SELECT /*+ INDEX(r ix_parse_request_file) */
        COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6)) AS now,
        SUM(r.merged) AS merged,
        MAX(
            (SELECT MIN(p.payload_id) FROM parse_payload AS p WHERE p.request_id = r.request_id) IS NOT NULL
        ) AS callbacks
    FROM parse_request AS r
    WHERE r.taken = TRUE AND r.file_id = j.file_id
) AS t
STRAIGHT_JOIN dag_file AS f ON f.file_id = j.file_id
SET
    f.last_parse_start = IF(f.claim_parses, LEAST(f.claimed_at, t.now), f.last_parse_start),
    f.last_parse_end = IF(f.claim_parses, t.now, f.last_parse_end),
    f.last_duration_ms = IF(
        f.claim_parses,
        COALESCE(j.duration_ms, GREATEST(TIMESTAMPDIFF(MICROSECOND, f.claimed_at, t.now), 0) DIV 1000),
        f.last_duration_ms
    ),
    f.last_error = IF(f.claim_parses, j.error, f.last_error),
    f.dag_ids = IF(f.claim_parses, j.dag_ids, f.dag_ids),
    f.last_callback = IF(t.callbacks, t.now, f.last_callback),
    f.parses = f.parses + f.claim_parses,
    f.merged = f.merged + COALESCE(t.merged, 0)
