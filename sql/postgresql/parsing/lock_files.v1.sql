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
)
SELECT f.file_id, f.bundle, f.path
FROM named AS n
JOIN dag_file AS f ON f.bundle = n.bundle AND f.path_hash = n.path_hash
ORDER BY f.file_id
FOR NO KEY UPDATE OF f
