"""How a parse queue shares its slots, and how long it waits; checked once."""

from __future__ import annotations

from dataclasses import dataclass

from selectq.errors import InvalidParameterError

WHOLE = 1_000_000
"""A share of 1, in millionths: the queries count in whole numbers."""

LONGEST = 10 * 366 * 86_400
"""Seconds; longer intervals are mistakes, and would leave the range of dates."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in seconds.

    Attributes:
        min_file_process_interval: a file is due that long after its last parse or callback.
        max_file_process_interval: if the priority lane has left the standard lane nothing for that long, what waits
            there goes first, for as long at most; 0 = off.
        callback_share: share of the slots, 0 to 1, that the priority lane may take while the standard lane waits.
        timeout: a claim of which nothing was heard for that long is given back; longer than any parse takes.

    Raises:
        InvalidParameterError: a value is out of its range; the message names it.
    """

    min_file_process_interval: float = 30
    max_file_process_interval: float = 120
    callback_share: float = 1
    timeout: float = 300

    def __post_init__(self) -> None:
        check_number("min_file_process_interval", self.min_file_process_interval, 0, LONGEST)
        check_number("max_file_process_interval", self.max_file_process_interval, 0, LONGEST)
        check_number("callback_share", self.callback_share, 0, 1)
        check_number("timeout", self.timeout, 0.001, LONGEST)

    @property
    def share(self) -> int:
        """``callback_share`` in millionths."""
        return round(self.callback_share * WHOLE)


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def check_number(field: str, value: object, lowest: float, highest: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not lowest <= value <= highest:
        raise InvalidParameterError(field, f"must be a number from {lowest} to {highest}, not {value!r:.80}")
