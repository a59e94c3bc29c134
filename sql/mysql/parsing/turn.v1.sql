-- name: parsing/turn
-- version: 1
-- purpose: Decide how the slots of a claim are shared between the lanes.
-- result: row
-- param slots: integer; files to claim, at least 1
-- param share: integer; callback_share in millionths
-- param max_interval_ms: integer; max_file_process_interval in milliseconds; 0 = off
-- param now: timestamp; the time to go by; NULL = the database's clock
-- column priority_slots: integer; slots that the priority lane may take before the standard lane is asked
-- column share_credit: integer; millionths of a slot that the priority lane is owed from now on
-- column waits_since: timestamp; since when the priority lane takes every slot; NULL = it does not
-- column breather_at: timestamp; start of the last breather
-- column breather_up_to: integer; request_id up to which the standard lane goes first; NULL = no breather now
-- column breathers: integer; breathers taken so far
-- locks: none
-- isolation: READ COMMITTED, in one transaction with the statements that go with it (selectq.parsing), after
--   parsing/lock_state
-- limits: while both lanes wait, the priority lane gets its share; where it has left the standard lane nothing for
--   max_file_process_interval, what waits there goes first, for as long at most
-- server: 8.4
-- origin: hand-written: each engine finds the waiting requests of unclaimed files in its own way

WITH requested AS (
    SELECT r.request_id
    FROM parse_request AS r
    WHERE
        r.taken = FALSE AND r.lane = 'requested'
        AND (SELECT f.claimed_at FROM dag_file AS f WHERE f.file_id = r.file_id) IS NULL
    ORDER BY r.taken, r.lane, r.line, r.request_id
    LIMIT :slots
),
priority AS (
    SELECT r.request_id
    FROM parse_request AS r
    WHERE
        r.taken = FALSE AND r.lane = 'priority'
        AND (SELECT f.claimed_at FROM dag_file AS f WHERE f.file_id = r.file_id) IS NULL
    ORDER BY r.taken, r.lane, r.line, r.request_id
    LIMIT :slots
),
standard AS (
    SELECT r.request_id
    FROM parse_request AS r
    WHERE
        r.taken = FALSE AND r.lane = 'standard'
        AND (SELECT f.claimed_at FROM dag_file AS f WHERE f.file_id = r.file_id) IS NULL
    ORDER BY r.taken, r.lane, r.line, r.request_id
    LIMIT 1
),
owed AS (
    SELECT r.request_id
    FROM parse_request AS r
    WHERE
        r.line IN (0, 1) AND r.request_id <= (SELECT breather_up_to FROM parse_state WHERE state_id = 1)
        AND r.taken = FALSE AND r.lane = 'standard'
        AND (SELECT f.claimed_at FROM dag_file AS f WHERE f.file_id = r.file_id) IS NULL
    ORDER BY r.taken, r.lane, r.line, r.request_id
    LIMIT 1
),
-- LIMIT keeps this from being worked out anew for each use.
facts AS (
    SELECT
        s.share_credit, s.waits_since, s.breather_at, s.breather_up_to, s.breathers,
        COALESCE(CAST(:now AS DATETIME(6)), UTC_TIMESTAMP(6)) AS now,
        :slots - (SELECT COUNT(*) FROM requested) AS slots_left,
        (SELECT COUNT(*) FROM priority) AS priority_waiting,
        (SELECT COUNT(*) FROM standard) > 0 AS standard_waits,
        (SELECT COUNT(*) FROM owed) > 0 AS breather_owes,
        (SELECT MAX(request_id) FROM parse_request) AS last_request
    FROM parse_state AS s
    WHERE s.state_id = 1
    LIMIT 1
),
shared AS (
    SELECT
        f.*,
        f.priority_waiting > 0 AND f.standard_waits AS contested,
        (f.share_credit + :share * f.slots_left) DIV 1000000 AS whole,
        (f.share_credit + :share * f.slots_left) % 1000000 AS credit_left,
        COALESCE(
            f.breather_owes AND f.breather_at <= f.now
            AND f.breather_at > f.now - INTERVAL 1000 * :max_interval_ms MICROSECOND,
            FALSE
        ) AS goes_on
    FROM facts AS f
),
judged AS (
    SELECT
        s.*,
        s.contested AND NOT s.goes_on AND LEAST(s.whole, s.priority_waiting) >= s.slots_left AS shut_out
    FROM shared AS s
),
decided AS (
    SELECT
        j.*,
        COALESCE(
            j.shut_out AND :max_interval_ms > 0 AND j.waits_since <= j.now
            AND j.waits_since <= j.now - INTERVAL 1000 * :max_interval_ms MICROSECOND,
            FALSE
        ) AS begins
    FROM judged AS j
)
SELECT
    CASE
        WHEN d.goes_on OR d.begins THEN 0
        WHEN d.contested THEN d.whole
        ELSE :slots
    END AS priority_slots,
    CASE WHEN d.contested AND NOT d.goes_on THEN d.credit_left ELSE d.share_credit END AS share_credit,
    CASE
        WHEN d.goes_on THEN d.waits_since
        WHEN d.begins OR NOT d.shut_out THEN NULL
        WHEN d.waits_since <= d.now THEN d.waits_since
        ELSE d.now
    END AS waits_since,
    CASE WHEN d.begins THEN d.now ELSE d.breather_at END AS breather_at,
    CASE WHEN d.begins THEN d.last_request WHEN d.goes_on THEN d.breather_up_to END AS breather_up_to,
    d.breathers + d.begins AS breathers
FROM decided AS d
