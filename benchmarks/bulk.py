"""SQL expressions for making rows inside the database: other words on each engine, the same values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """The expressions of one engine; arguments and results are SQL text."""

    dialect: str
    seed: int

    def numbers(self, count: int) -> str:
        """A derived table with a column ``i`` from 0 to ``count`` - 1."""
        if self.dialect == "mysql":
            counted = f"SELECT 0 AS i UNION ALL SELECT i + 1 FROM s WHERE i < {count - 1}"
            return f"(WITH RECURSIVE s AS ({counted}) SELECT i FROM s)"
        return f"(SELECT i FROM GENERATE_SERIES(0, {count - 1}) AS s (i))"

    def name(self, prefix: str, number: str) -> str:
        """The prefix and five digits."""
        digits = number if self.dialect == "mysql" else f"CAST({number} AS TEXT)"
        return f"CONCAT('{prefix}', LPAD({digits}, 5, '0'))"

    def drawn(self, below: int, purpose: str, *columns: str) -> str:
        """A whole number from 0 to ``below`` - 1, set by the seed, the purpose and the row's columns."""
        text = f"CONCAT_WS('/', {self.seed}, '{purpose}', {', '.join(columns)})"
        if self.dialect == "mysql":
            return f"(CAST(CONV(LEFT(SHA2({text}, 256), 7), 16, 10) AS SIGNED) % {below})"
        digest = f"ENCODE(SHA256(CONVERT_TO({text}, 'UTF8')), 'hex')"
        return f"(CAST(CAST('x' || LEFT({digest}, 7) AS BIT(28)) AS INTEGER) % {below})"

    def minutes_later(self, minutes: str) -> str:
        """A time that many minutes after the start of 2026, UTC."""
        if self.dialect == "mysql":
            return f"TIMESTAMP '2026-01-01 00:00:00' + INTERVAL ({minutes}) MINUTE"
        return f"TIMESTAMPTZ '2026-01-01 00:00:00+00' + ({minutes}) * INTERVAL '1 minute'"
