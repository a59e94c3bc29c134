-- name: parsing/update_files
-- version: 1
-- purpose: Note what a scan found of known files: modification time and digest, where they differ.
-- result: count
-- param files: json; [{"bundle", "path", "mtime", "digest"}, ...]; mtime is text in UTC; it and digest may be null
-- locks: the dag files that have changed, in the order of file_id
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/lock_state
-- limits: none
-- server: 15
-- origin: hand-written: UPDATE ... FROM, which MySQL words as a join

WITH differing AS (
    SELECT f.file_id, j.mtime, j.digest
    FROM jsonb_to_recordset(CAST(:files AS jsonb)) AS j (bundle text, path text, mtime timestamptz, digest text)
    CROSS JOIN LATERAL (
        SELECT file_id, mtime, digest
        FROM dag_file
        WHERE
            dag_file.bundle = j.bundle
            AND dag_file.path_hash = encode(sha256(convert_to(j.path, 'UTF8')), 'hex')
        OFFSET 0
    ) AS f
    WHERE (f.mtime, f.digest) IS DISTINCT FROM (j.mtime, coalesce(j.digest, f.digest))
),
found AS MATERIALIZED (
    SELECT
        f.file_id,
        j.mtime,
        coalesce(j.digest, f.digest) AS digest,
        -- The first digest is taken to be that of what was parsed, if nothing else has changed.
        CASE WHEN f.digest IS NULL AND f.mtime = j.mtime THEN j.digest ELSE f.parsed_digest END AS parsed_digest
    FROM differing AS j
    JOIN dag_file AS f ON f.file_id = j.file_id
    WHERE f.file_id = any(array(SELECT file_id FROM differing))
    ORDER BY f.file_id
    FOR NO KEY UPDATE OF f
)
UPDATE dag_file AS f
SET
    mtime = n.mtime,
    digest = n.digest,
    parsed_digest = n.parsed_digest
FROM found AS n
WHERE f.file_id = n.file_id AND f.file_id = any(array(SELECT file_id FROM found))
