"""The database records every committed change of a task instance or a limit, in the order of the commits.

A number drawn when a row changes says nothing about who commits first. So the trigger first takes one lock that is
kept until its transaction has ended, and then draws the number: the next number is drawn only when the transaction
before it is visible to all. Whatever rolls back leaves no record. On Postgres the trigger waits for the COMMIT, so
that transactions run side by side up to there; MySQL has no such triggers, and the lock is held from the first change.
"""

from __future__ import annotations

import sqlalchemy as sa

POSTGRES_TABLE = """
CREATE TABLE audit (
    seq bigserial PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    source text NOT NULL, k1 text NOT NULL, k2 text, k3 text, k4 integer,
    old text, new text, pool text, slots integer, token uuid, since timestamptz
)
"""
POSTGRES_ORDER = """
CREATE FUNCTION audit_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1);
    CASE TG_TABLE_NAME
    WHEN 'task_instance' THEN
        INSERT INTO audit (source, k1, k2, k3, k4, old, new, pool, slots, token, since)
        VALUES ('ti', NEW.dag_id, NEW.run_id, NEW.task_id, NEW.map_index, OLD.state, NEW.state, NEW.pool,
            NEW.pool_slots, NEW.claim_token, NEW.queued_dttm);
    WHEN 'slot_pool' THEN
        INSERT INTO audit (source, k1, old, new)
        VALUES ('pool', NEW.pool, concat(OLD.slots, ' ', OLD.include_deferred::int),
            concat(NEW.slots, ' ', NEW.include_deferred::int));
    WHEN 'dag' THEN
        INSERT INTO audit (source, k1, old, new)
        VALUES ('dag', NEW.dag_id, OLD.max_active_tasks, NEW.max_active_tasks);
    WHEN 'task' THEN
        INSERT INTO audit (source, k1, k2, old, new)
        VALUES ('task', NEW.dag_id, NEW.task_id,
            concat(OLD.max_active_tis_per_dag, ' ', OLD.max_active_tis_per_dagrun),
            concat(NEW.max_active_tis_per_dag, ' ', NEW.max_active_tis_per_dagrun));
    END CASE;
    RETURN NULL;
END $$
"""
POSTGRES_TRIGGER = """
CREATE CONSTRAINT TRIGGER audit AFTER UPDATE ON {table} DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION audit_in_order()
"""

MYSQL_TABLES = (
    """
    CREATE TABLE audit (
        seq BIGINT AUTO_INCREMENT PRIMARY KEY,
        at DATETIME(6) NOT NULL,
        source VARCHAR(10) NOT NULL, k1 VARCHAR(256) NOT NULL, k2 VARCHAR(250), k3 VARCHAR(250), k4 INT,
        old VARCHAR(50), new VARCHAR(50), pool VARCHAR(256), slots INT, token CHAR(32), since DATETIME(6)
    ) COLLATE utf8mb4_0900_bin
    """,
    "CREATE TABLE audit_order (one INT PRIMARY KEY)",
    "INSERT INTO audit_order VALUES (1)",
)
MYSQL_VALUES = {
    "task_instance": """
        (at, source, k1, k2, k3, k4, old, new, pool, slots, token, since) VALUES (SYSDATE(6), 'ti', NEW.dag_id,
        NEW.run_id, NEW.task_id, NEW.map_index, OLD.state, NEW.state, NEW.pool, NEW.pool_slots, NEW.claim_token,
        NEW.queued_dttm)
    """,
    "slot_pool": """
        (at, source, k1, old, new) VALUES (SYSDATE(6), 'pool', NEW.pool,
        CONCAT(OLD.slots, ' ', OLD.include_deferred), CONCAT(NEW.slots, ' ', NEW.include_deferred))
    """,
    "dag": """
        (at, source, k1, old, new)
        VALUES (SYSDATE(6), 'dag', NEW.dag_id, OLD.max_active_tasks, NEW.max_active_tasks)
    """,
    "task": """
        (at, source, k1, k2, old, new) VALUES (SYSDATE(6), 'task', NEW.dag_id, NEW.task_id,
        CONCAT(COALESCE(OLD.max_active_tis_per_dag, ''), ' ', COALESCE(OLD.max_active_tis_per_dagrun, '')),
        CONCAT(COALESCE(NEW.max_active_tis_per_dag, ''), ' ', COALESCE(NEW.max_active_tis_per_dagrun, '')))
    """,
}
MYSQL_TRIGGER = """
CREATE TRIGGER audit_{table} AFTER UPDATE ON {table} FOR EACH ROW
BEGIN
    DECLARE held INT;
    SELECT one INTO held FROM audit_order FOR UPDATE;
    INSERT INTO audit {values};
END
"""


def install(engine: sa.Engine) -> None:
    """Record all changes from now on. The world must be in the tables already."""
    if engine.dialect.name == "postgresql":
        statements = [POSTGRES_TABLE, POSTGRES_ORDER, *(POSTGRES_TRIGGER.format(table=table) for table in MYSQL_VALUES)]
    else:
        statements = [
            *MYSQL_TABLES,
            *(MYSQL_TRIGGER.format(table=table, values=values) for table, values in MYSQL_VALUES.items()),
        ]
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
