"""SQL expressions for making rows inside the database: other words on each engine, the same values."""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS = "dag_id, run_id, task_id, map_index, state, logical_date, pool, pool_slots, priority_weight"
"""What a workload sets of a task instance."""
LONGEST_COUNT = 100_000
"""More numbers than any statement asks for."""


@dataclass(frozen=True)
class Words:
    """The expressions of one engine; arguments and results are SQL text."""

    dialect: str
    seed: int

    @property
    def settings(self) -> tuple[str, ...]:
        """Statements that a session needs first."""
        return (f"SET SESSION cte_max_recursion_depth = {LONGEST_COUNT}",) if self.dialect == "mysql" else ()

    def numbers(self, count: int, start: int = 0) -> str:
        """A derived table with a column ``i`` that counts ``count`` numbers from ``start``."""
        last = start + count - 1
        if self.dialect == "mysql":
            counted = f"SELECT {start} AS i UNION ALL SELECT i + 1 FROM s WHERE i < {last}"
            return f"(WITH RECURSIVE s AS ({counted}) SELECT i FROM s)"
        return f"(SELECT i FROM GENERATE_SERIES({start}, {last}) AS s (i))"

    def name(self, prefix: str, number: str) -> str:
        """The prefix and five digits."""
        digits = number if self.dialect == "mysql" else f"CAST({number} AS TEXT)"
        return f"CONCAT('{prefix}', LPAD({digits}, 5, '0'))"

    def number(self, name: str) -> str:
        """The number in a name; of 64 bits."""
        return f"CAST(RIGHT({name}, 5) AS {'SIGNED' if self.dialect == 'mysql' else 'BIGINT'})"

    def between(self, name: str, prefix: str, first: int, end: int) -> str:
        """Whether a name's number is from ``first`` to ``end`` - 1: a range that an index answers."""
        return f"({name} >= '{prefix}{first:05d}' AND {name} <= '{prefix}{end - 1:05d}')"

    def quotient(self, number: str, by: int) -> str:
        """Without the remainder."""
        return f"{number} {'DIV' if self.dialect == 'mysql' else '/'} {by}"

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
