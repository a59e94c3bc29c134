"""Which database error means what."""

from __future__ import annotations

import psycopg.errors
import pymysql.err
import pytest
import sqlalchemy as sa

from selectq.faults import Fault, fault_of

CASES: list[tuple[Exception, Fault]] = [
    (psycopg.errors.DeadlockDetected(), Fault.CONFLICT),
    (psycopg.errors.SerializationFailure(), Fault.CONFLICT),
    (psycopg.errors.LockNotAvailable(), Fault.CONFLICT),
    (psycopg.errors.ReadOnlySqlTransaction(), Fault.READ_ONLY),
    (psycopg.errors.QueryCanceled(), Fault.CANCELLED),
    (psycopg.errors.AdminShutdown(), Fault.LOST),
    (psycopg.errors.ConnectionFailure(), Fault.LOST),
    (psycopg.errors.UniqueViolation(), Fault.OTHER),
    # PyMySQL gives an SQLSTATE too, which is HY000 for many.
    (pymysql.err.OperationalError(1205, "lock wait", sqlstate="HY000"), Fault.CONFLICT),
    (pymysql.err.OperationalError(1213, "deadlock", sqlstate="40001"), Fault.CONFLICT),
    (pymysql.err.OperationalError(1290, "--read-only", sqlstate="HY000"), Fault.READ_ONLY),
    (pymysql.err.OperationalError(1792, "read only transaction", sqlstate="25006"), Fault.READ_ONLY),
    (pymysql.err.OperationalError(1836, "read-only mode", sqlstate="HY000"), Fault.READ_ONLY),
    (pymysql.err.OperationalError(1317, "interrupted", sqlstate="70100"), Fault.CANCELLED),
    (pymysql.err.OperationalError(3024, "max execution time", sqlstate="HY000"), Fault.CANCELLED),
    (pymysql.err.OperationalError(1053, "shutdown in progress", sqlstate="08S01"), Fault.LOST),
    (pymysql.err.IntegrityError(1062, "duplicate", sqlstate="23000"), Fault.OTHER),
]


@pytest.mark.parametrize(("error", "fault"), CASES, ids=lambda value: str(value)[:40])
def test_the_meaning_of_errors(error: Exception, fault: Fault) -> None:
    assert fault_of(sa.exc.DBAPIError("SELECT 1", {}, error)) is fault


def test_an_invalidated_connection_is_lost_whatever_the_error() -> None:
    error = sa.exc.DBAPIError("SELECT 1", {}, psycopg.errors.UniqueViolation(), connection_invalidated=True)
    assert fault_of(error) is Fault.LOST


def test_what_is_no_database_error_is_other() -> None:
    assert fault_of(ValueError("no")) is Fault.OTHER
