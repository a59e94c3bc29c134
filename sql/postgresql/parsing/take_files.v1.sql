-- name: parsing/take_files
-- version: 1
-- purpose: Put a claim on each of the files, and note which version of it is going to be parsed.
-- result: count
-- param claims: json; [{"file_id", "claim_token", "parse"}, ...]
-- param claimed_by: text; name of the processor
-- param now: timestamp; the time to go by; NULL = the database's clock
-- locks: the dag files, which parsing/claim_files has locked already
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/claim_files
-- limits: one claim per file at a time
-- server: 15
-- origin: hand-written: UPDATE ... FROM, which MySQL words as a join

WITH claim AS (
    SELECT j.file_id, j.claim_token, j.parse
    FROM jsonb_to_recordset(CAST(:claims AS jsonb)) AS j (file_id bigint, claim_token uuid, parse boolean)
)
UPDATE dag_file AS f
SET
    claim_token = j.claim_token,
    claimed_at = coalesce(CAST(:now AS timestamptz), statement_timestamp()),
    claimed_by = :claimed_by,
    claim_parses = j.parse,
    parsed_mtime = CASE WHEN j.parse THEN f.mtime ELSE f.parsed_mtime END,
    parsed_digest = CASE WHEN j.parse THEN f.digest ELSE f.parsed_digest END
FROM claim AS j
WHERE f.file_id = j.file_id AND f.file_id = any(array(SELECT file_id FROM claim)) AND f.claimed_at IS NULL
