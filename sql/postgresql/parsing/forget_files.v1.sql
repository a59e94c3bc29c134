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
-- server: 15
-- origin: hand-written: each engine takes a list apart in its own way

DELETE FROM dag_file AS f
WHERE
    f.bundle = :bundle AND f.path_hash > :after_hash AND f.path_hash <= :up_to_hash
    AND NOT (f.found_at > :listed_at AND f.found_at <= coalesce(CAST(:now AS timestamptz), statement_timestamp()))
    AND f.path_hash NOT IN (
        SELECT encode(sha256(convert_to(j.path, 'UTF8')), 'hex')
        FROM jsonb_to_recordset(CAST(:files AS jsonb)) AS j (path text)
    )
