-- name: parsing/metrics
-- version: 1
-- purpose: Counts of the queue; parses, merged and given_back of the files that are there now.
-- result: row
-- column files: integer; known dag files
-- column being_read: integer; files under a claim
-- column outstanding: integer; files of the last refill that still wait
-- column refills: integer
-- column refilled_at: timestamp; NULL = never
-- column breathers: integer; turns of the standard lane that max_file_process_interval forced
-- column breather_at: timestamp; NULL = never
-- column parses: integer
-- column merged: integer; repeats that joined a waiting request
-- column given_back: integer; claims whose processor was taken for dead
-- locks: none
-- isolation: any; one statement, one snapshot
-- limits: none
-- server: 15
-- origin: hand-written: literals for booleans differ
-- plan-waiver: backlog: a report for people, not part of a claim: it counts all files and all that waits

SELECT
    (SELECT count(*) FROM dag_file) AS files,
    (SELECT count(*) FROM dag_file WHERE claimed_at IS NOT NULL) AS being_read,
    (SELECT count(*) FROM parse_request WHERE NOT taken AND refill IS NOT NULL) AS outstanding,
    coalesce((SELECT s.refills FROM parse_state AS s WHERE s.state_id = 1), 0) AS refills,
    (SELECT s.refilled_at FROM parse_state AS s WHERE s.state_id = 1) AS refilled_at,
    coalesce((SELECT s.breathers FROM parse_state AS s WHERE s.state_id = 1), 0) AS breathers,
    (SELECT s.breather_at FROM parse_state AS s WHERE s.state_id = 1) AS breather_at,
    coalesce((SELECT sum(f.parses) FROM dag_file AS f), 0) AS parses,
    coalesce((SELECT sum(f.merged) FROM dag_file AS f), 0)
    + coalesce((SELECT sum(r.merged) FROM parse_request AS r), 0) AS merged,
    coalesce((SELECT sum(f.given_back) FROM dag_file AS f), 0) AS given_back
