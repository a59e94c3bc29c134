-- name: parsing/clock
-- version: 1
-- purpose: The database's time, which goes before that of any processor.
-- result: row
-- column now: timestamp
-- locks: none
-- isolation: any
-- limits: none
-- server: 15
-- origin: hand-written: the clocks differ

SELECT statement_timestamp() AS now
