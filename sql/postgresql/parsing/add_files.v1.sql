-- name: parsing/add_files
-- version: 1
-- purpose: Take in files that are not known yet.
-- result: count
-- param files: json; [{"bundle", "path", "mtime", "digest"}, ...]; mtime is text in UTC; it and digest may be null
-- param now: timestamp; the time to go by; NULL = the database's clock
-- locks: the dag files: the new rows
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing)
-- limits: none
-- server: 15
-- origin: hand-written: an upsert, which each engine words in its own way

INSERT INTO dag_file (bundle, path, path_hash, found_at, mtime, digest)
SELECT DISTINCT ON (bundle, path)
    j.bundle COLLATE "C" AS bundle,
    j.path COLLATE "C" AS path,
    encode(sha256(convert_to(j.path, 'UTF8')), 'hex'),
    coalesce(CAST(:now AS timestamptz), statement_timestamp()),
    j.mtime,
    j.digest
FROM jsonb_to_recordset(CAST(:files AS jsonb)) AS j (bundle text, path text, mtime timestamptz, digest text)
WHERE (
    SELECT f.file_id
    FROM dag_file AS f
    WHERE f.bundle = j.bundle AND f.path_hash = encode(sha256(convert_to(j.path, 'UTF8')), 'hex')
) IS NULL
ORDER BY bundle, path
ON CONFLICT (bundle, path_hash) DO NOTHING
