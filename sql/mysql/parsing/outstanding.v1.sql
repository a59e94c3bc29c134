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
-- plan-waiver: files-due: it counts what a refill has just queued

SELECT /*+ INDEX(parse_request ix_parse_request_outstanding) */ COUNT(*) AS outstanding
FROM parse_request
WHERE taken = FALSE AND refill > 0
