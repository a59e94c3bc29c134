-- name: parsing/outstanding
-- version: 1
-- purpose: Number of files of the last refill that still wait.
-- result: row
-- column outstanding: integer
-- locks: none
-- isolation: any
-- limits: none
-- server: 8.4
-- origin: hand-written: literals for booleans differ

SELECT COUNT(*) AS outstanding
FROM parse_request
WHERE taken = FALSE AND refill IS NOT NULL
