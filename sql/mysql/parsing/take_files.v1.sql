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
-- server: 8.4
-- origin: hand-written: UPDATE ... FROM, which MySQL words as a join

UPDATE JSON_TABLE(:claims, '$[*]' COLUMNS (
    file_id BIGINT PATH '$.file_id',
    claim_token CHAR(32) PATH '$.claim_token',
    parse BOOLEAN PATH '$.parse'
)) AS j
STRAIGHT_JOIN dag_file AS f ON f.file_id = j.file_id
SET
    f.claim_token = j.claim_token,
    f.claimed_at = COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6)),
    f.claimed_by = :claimed_by,
    f.claim_parses = j.parse,
    f.parsed_mtime = IF(j.parse, f.mtime, f.parsed_mtime),
    f.parsed_digest = IF(j.parse, f.digest, f.parsed_digest)
WHERE f.claimed_at IS NULL
