"""Column types and conditions that every table of selectq is made of."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql

ID_LENGTH = 250
POOL_LENGTH = 256
# PostgreSQL refuses index rows over 2,704 bytes: unless INSERT refuses long ids, a claim's UPDATE could fail on them.
KEY_BYTES = 2600
"""Most bytes of UTF-8 that the ids of a row (with pool and executor, if it has them) may take together."""

MYSQL_OPTIONS: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_0900_bin",
}


def text_type(length: int) -> sa.types.TypeEngine[str]:
    """VARCHAR that compares as UTF-8 bytes on both engines."""
    return sa.String(length).with_variant(
        postgresql.VARCHAR(length, collation="C"), "postgresql"
    ).with_variant(mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_0900_bin"), "mysql")


def state_type() -> sa.types.TypeEngine[str]:
    """VARCHAR for names of states; on MySQL one byte a character, so that an index over three ids has room for it."""
    return sa.String(20).with_variant(postgresql.VARCHAR(20, collation="C"), "postgresql").with_variant(
        mysql.VARCHAR(20, charset="ascii", collation="ascii_bin"), "mysql"
    )


def time_type() -> sa.types.TypeEngine[datetime]:
    """A point in time to the microsecond; MySQL stores it in UTC without an offset."""
    return sa.TIMESTAMP(timezone=True).with_variant(mysql.DATETIME(fsp=6), "mysql")


def one_of(column: str, values: tuple[str, ...]) -> str:
    return f"{column} IN ({', '.join(repr(value) for value in values)})"


def within_key_bytes(*columns: str) -> str:
    return f"{' + '.join(f'octet_length({column})' for column in columns)} <= {KEY_BYTES}"
