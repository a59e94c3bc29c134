"""What a server says of a statement that it has prepared."""

from __future__ import annotations

from dataclasses import dataclass


class RefusedError(Exception):
    """The server does not accept the statement; its own words."""


@dataclass(frozen=True)
class Prepared:
    """Types by the server's own names.

    ``parameters``: parameter -> type, where the server tells. ``columns``: (name, type), in order; empty if no rows
    are returned. ``warnings``: what the server did not like but accepted.
    """

    parameters: dict[str, str]
    columns: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()
