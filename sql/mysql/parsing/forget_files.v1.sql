-- name: parsing/forget_files
-- version: 1
-- purpose: Drop files that a scan did not find, and with them what waits for them.
-- result: count
-- param files: json; [{"path"}, ...]: what the scan found of this part of the bundle
-- param bundle: text
-- param after_hash: text; path_hash of the end of the part before; empty = from the start
-- param up_to_hash: text; path_hash of the end of this part
-- param listed_at: timestamp; when the listing began: what was found since is kept
-- param now: timestamp; the time to go by; NULL = the database's clock
-- locks: the dag files that go; their parse requests and parse payloads go with them
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/lock_state
-- limits: none; a claim on one of them is void
-- server: 8.4
-- origin: hand-written: each engine takes a list apart in its own way

DELETE f
FROM dag_file AS f
WHERE
    f.bundle = :bundle AND f.path_hash > :after_hash AND f.path_hash <= :up_to_hash
    AND NOT (f.found_at > :listed_at AND f.found_at <= COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6)))
    AND f.path_hash NOT IN (
        SELECT /*+ SUBQUERY(MATERIALIZATION) */ SHA2(t.path, 256) COLLATE utf8mb4_0900_bin
        FROM JSON_TABLE(:files, '$[*]' COLUMNS (path VARCHAR(2000) PATH '$.path')) AS t
    )
