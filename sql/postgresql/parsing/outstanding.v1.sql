-- name: parsing/outstanding
-- version: 1
-- purpose: Number of files of the last refill that still wait.
-- result: row
-- column outstanding: integer
-- locks: none
-- isolation: any
-- limits: none
-- server: 15
-- origin: hand-written: literals for booleans differ
-- plan-waiver: files-due: it counts what a refill has just queued

SELECT count(*) AS outstanding
FROM parse_request
WHERE NOT taken AND refill IS NOT NULL
