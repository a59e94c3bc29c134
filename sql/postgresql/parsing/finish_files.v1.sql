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
-- server: 15
-- origin: hand-written: UPDATE ... FROM, which MySQL words as a join

WITH clock AS (
    SELECT coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS now
),
result AS (
    SELECT j.file_id, j.duration_ms, j.error, j.dag_ids
    FROM jsonb_to_recordset(CAST(:results AS jsonb)) AS j (
        file_id bigint, duration_ms bigint, error text, dag_ids jsonb
    )
)
UPDATE dag_file AS f
SET
    last_parse_start = CASE WHEN f.claim_parses THEN least(f.claimed_at, c.now) ELSE f.last_parse_start END,
    last_parse_end = CASE WHEN f.claim_parses THEN c.now ELSE f.last_parse_end END,
    last_duration_ms = CASE
        WHEN f.claim_parses
            THEN coalesce(j.duration_ms, greatest(extract(EPOCH FROM c.now - f.claimed_at), 0) * 1000)
        ELSE f.last_duration_ms
    END,
    last_error = CASE WHEN f.claim_parses THEN j.error ELSE f.last_error END,
    dag_ids = CASE WHEN f.claim_parses THEN j.dag_ids ELSE f.dag_ids END,
    last_callback = CASE WHEN t.callbacks THEN c.now ELSE f.last_callback END,
    parses = f.parses + CASE WHEN f.claim_parses THEN 1 ELSE 0 END,
    merged = f.merged + coalesce(t.merged, 0)
FROM result AS j
CROSS JOIN LATERAL (
    SELECT
        sum(r.merged) AS merged,
        bool_or((SELECT min(p.payload_id) FROM parse_payload AS p WHERE p.request_id = r.request_id) IS NOT NULL)
            AS callbacks
    FROM parse_request AS r
    WHERE r.file_id = j.file_id AND r.taken
) AS t
CROSS JOIN clock AS c
WHERE f.file_id = j.file_id AND f.file_id = any(array(SELECT file_id FROM result))
