"""Ids that are short enough one by one, and too long together for the tables."""

from __future__ import annotations

from collections.abc import Mapping

from selectq.scenario.fields import Place
from selectq.schema import KEY_BYTES


def check_key_bytes(place: Place, ids: Mapping[str, str]) -> None:
    """Refuse ids of one row that take more than ``KEY_BYTES`` bytes of UTF-8 together.

    Args:
        place: of the entry.
        ids: by their fields in it.

    Raises:
        ScenarioError: they take more; names the longest.
    """
    taken = {name: len(value.encode()) for name, value in ids.items()}
    total = sum(taken.values())
    if total > KEY_BYTES:
        longest = max(taken, key=taken.__getitem__)
        together = f"{', '.join(list(ids)[:-1])} and {list(ids)[-1]}"
        raise place.field(longest).wrong(
            f"{together} of at most {KEY_BYTES} bytes together",
            f"{total} bytes (shorten this one, it takes {taken[longest]})",
        )
