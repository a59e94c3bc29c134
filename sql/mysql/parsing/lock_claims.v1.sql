-- name: parsing/lock_claims
-- version: 1
-- purpose: Lock the files of claims that still hold; the others were given back, or their files are gone.
-- result: rows
-- param claims: json; [{"file_id", "claim_token"}, ...]
-- column file_id: integer
-- locks: the dag files, in the order of file_id
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing)
-- limits: a claim that is no longer the file's changes nothing
-- server: 8.4
-- origin: hand-written: each engine takes a list apart in its own way

SELECT f.file_id
FROM (
    SELECT t.file_id, t.claim_token COLLATE utf8mb4_0900_bin AS claim_token
    FROM JSON_TABLE(:claims, '$[*]' COLUMNS (
        file_id BIGINT PATH '$.file_id',
        claim_token CHAR(32) PATH '$.claim_token'
    )) AS t
    ORDER BY t.file_id
    LIMIT 1000000
) AS j
STRAIGHT_JOIN dag_file AS f ON f.file_id = j.file_id
WHERE f.claim_token = j.claim_token
FOR UPDATE OF f
