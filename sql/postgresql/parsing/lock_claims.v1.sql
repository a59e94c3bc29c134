-- name: parsing/lock_claims
-- version: 1
-- purpose: Lock the files of claims that still hold; the others were given back, or their files are gone.
-- result: rows
-- param claims: json; [{"file_id", "claim_token"}, ...]
-- column file_id: integer
-- locks: the dag files, in the order of file_id
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing)
-- limits: a claim that is no longer the file's changes nothing
-- server: 15
-- origin: hand-written: each engine takes a list apart in its own way

WITH claim AS (
    SELECT j.file_id, j.claim_token
    FROM jsonb_to_recordset(CAST(:claims AS jsonb)) AS j (file_id bigint, claim_token uuid)
)
SELECT f.file_id
FROM claim AS c
JOIN dag_file AS f ON f.file_id = c.file_id AND f.claim_token = c.claim_token
WHERE f.file_id = any(array(SELECT file_id FROM claim))
ORDER BY f.file_id
FOR NO KEY UPDATE OF f
