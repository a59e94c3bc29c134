-- name: parsing/update_files
-- version: 1
-- purpose: Note what a scan found of known files: modification time and digest, where they differ.
-- result: count
-- param files: json; [{"bundle", "path", "mtime", "digest"}, ...]; mtime is text in UTC; it and digest may be null
-- locks: the dag files that have changed, in the order of file_id
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/lock_state
-- limits: none
-- server: 8.4
-- origin: hand-written: UPDATE ... FROM, which MySQL words as a join

UPDATE (
    SELECT
        f.file_id,
        t.mtime,
        COALESCE(t.digest COLLATE utf8mb4_0900_bin, f.digest) AS digest,
        -- The first digest is taken to be that of what was parsed, if nothing else has changed.
        IF(f.digest IS NULL AND f.mtime = t.mtime, t.digest, f.parsed_digest) AS parsed_digest
    FROM JSON_TABLE(:files, '$[*]' COLUMNS (
        bundle VARCHAR(250) PATH '$.bundle',
        path VARCHAR(2000) PATH '$.path',
        mtime DATETIME(6) PATH '$.mtime',
        digest VARCHAR(64) PATH '$.digest'
    )) AS t
    STRAIGHT_JOIN dag_file AS f
        ON f.bundle = t.bundle COLLATE utf8mb4_0900_bin
        AND f.path_hash = SHA2(t.path, 256) COLLATE utf8mb4_0900_bin
    WHERE
        NOT (f.mtime <=> t.mtime)
        OR NOT (f.digest <=> COALESCE(t.digest COLLATE utf8mb4_0900_bin, f.digest))
    ORDER BY f.file_id
    LIMIT 1000000
) AS j
STRAIGHT_JOIN dag_file AS f ON f.file_id = j.file_id
SET
    f.mtime = j.mtime,
    f.digest = j.digest,
    f.parsed_digest = j.parsed_digest
