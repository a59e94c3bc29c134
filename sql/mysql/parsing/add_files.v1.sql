-- name: parsing/add_files
-- version: 1
-- purpose: Take in files that are not known yet.
-- result: count
-- param files: json; [{"bundle", "path", "mtime", "digest"}, ...]; mtime is text in UTC; it and digest may be null
-- param now: timestamp; the time to go by; NULL = the database's clock
-- locks: the dag files: the new rows
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing)
-- limits: none
-- server: 8.4
-- origin: hand-written: an upsert, which each engine words in its own way

INSERT INTO dag_file (bundle, path, path_hash, found_at, mtime, digest)
SELECT
    j.bundle,
    j.path,
    SHA2(j.path, 256),
    COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6)),
    MIN(j.mtime),
    MIN(j.digest)
FROM (
    SELECT
        t.bundle COLLATE utf8mb4_0900_bin AS bundle,
        t.path COLLATE utf8mb4_0900_bin AS path,
        SHA2(t.path, 256) COLLATE utf8mb4_0900_bin AS path_hash,
        t.mtime,
        t.digest
    FROM JSON_TABLE(:files, '$[*]' COLUMNS (
        bundle VARCHAR(250) PATH '$.bundle',
        path VARCHAR(2000) PATH '$.path',
        mtime DATETIME(6) PATH '$.mtime',
        digest VARCHAR(64) PATH '$.digest'
    )) AS t
) AS j
LEFT JOIN dag_file AS f ON f.bundle = j.bundle AND f.path_hash = j.path_hash
WHERE f.file_id IS NULL
GROUP BY j.bundle, j.path
ORDER BY j.bundle, j.path
ON DUPLICATE KEY UPDATE file_id = dag_file.file_id
