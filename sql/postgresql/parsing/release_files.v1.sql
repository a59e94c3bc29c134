-- name: parsing/release_files
-- version: 1
-- purpose: Take the claims off the files.
-- result: count
-- param file_ids: json; [file_id, ...]
-- param given_back: integer; 1 if the claims are given back, 0 if they are done
-- locks: the dag files, which are locked already
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/drop_requests
-- limits: none
-- server: 15
-- origin: hand-written: each engine takes a list apart in its own way

UPDATE dag_file AS f
SET
    claim_token = NULL,
    claimed_at = NULL,
    claimed_by = NULL,
    claim_parses = NULL,
    given_back = f.given_back + :given_back
WHERE f.file_id = any(array(SELECT CAST(e AS bigint) FROM jsonb_array_elements_text(CAST(:file_ids AS jsonb)) AS e))
