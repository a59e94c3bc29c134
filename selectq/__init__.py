"""selectq: which task instances may start now, settled in SQL that can be reviewed as plain files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selectq.defining import define as define

__all__ = ["define"]


def __getattr__(name: str) -> Any:
    """``selectq.define``, imported when it is first asked for: a command that needs no database starts without it."""
    if name == "define":
        from selectq.defining import define

        return define
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
