-- name: parsing/lock_files
-- version: 1
-- purpose: Lock files by their names, before something that concerns them is changed.
-- result: rows
-- param files: json; [{"bundle", "path"}, ...]
-- column file_id: integer
-- column bundle: text
-- column path: text
-- locks: the dag files, in the order of file_id
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing)
-- limits: none
-- server: 15
-- origin: hand-written: PostgreSQL's lock lets requests of the file be inserted

WITH named AS (
    SELECT DISTINCT j.bundle, encode(sha256(convert_to(j.path, 'UTF8')), 'hex') AS path_hash
    FROM jsonb_to_recordset(CAST(:files AS jsonb)) AS j (bundle text, path text)
),
known AS (
    SELECT k.file_id
    FROM named AS n
    CROSS JOIN LATERAL (
        SELECT file_id FROM dag_file WHERE dag_file.bundle = n.bundle AND dag_file.path_hash = n.path_hash OFFSET 0
    ) AS k
)
SELECT f.file_id, f.bundle, f.path
FROM dag_file AS f
WHERE f.file_id = any(array(SELECT file_id FROM known))
ORDER BY f.file_id
FOR NO KEY UPDATE
