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
-- server: 8.4
-- origin: hand-written: rows are looked up, and so locked, in the order of a sorted list; LIMIT keeps that order
--   alive

WITH named AS (
    SELECT DISTINCT
        j.bundle COLLATE utf8mb4_0900_bin AS bundle,
        SHA2(j.path, 256) COLLATE utf8mb4_0900_bin AS path_hash
    FROM JSON_TABLE(:files, '$[*]' COLUMNS (
        bundle VARCHAR(250) PATH '$.bundle',
        path VARCHAR(2000) PATH '$.path'
    )) AS j
),
in_order AS (
    SELECT f.file_id
    FROM named AS n
    STRAIGHT_JOIN dag_file AS f ON f.bundle = n.bundle AND f.path_hash = n.path_hash
    ORDER BY f.file_id
    LIMIT 1000000
)
SELECT f.file_id, f.bundle, f.path
FROM in_order AS o
STRAIGHT_JOIN dag_file AS f ON f.file_id = o.file_id
FOR UPDATE OF f
