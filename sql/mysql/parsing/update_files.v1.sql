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

UPDATE JSON_TABLE(:files, '$[*]' COLUMNS (
    bundle VARCHAR(250) PATH '$.bundle',
    path VARCHAR(2000) PATH '$.path',
    mtime DATETIME(6) PATH '$.mtime',
    digest VARCHAR(64) PATH '$.digest'
)) AS j
STRAIGHT_JOIN dag_file AS f
    ON f.bundle = j.bundle COLLATE utf8mb4_0900_bin
    AND f.path_hash = SHA2(j.path, 256) COLLATE utf8mb4_0900_bin
SET
    f.mtime = j.mtime,
    f.digest = COALESCE(j.digest, f.digest)
WHERE NOT (f.mtime <=> j.mtime) OR NOT (f.digest <=> COALESCE(j.digest, f.digest) COLLATE utf8mb4_0900_bin)
