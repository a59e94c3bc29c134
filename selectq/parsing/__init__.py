"""The parse queue: which dag file is read next, so that callbacks are fast and no file is forgotten."""

from __future__ import annotations

from selectq.parsing.queue import ParseQueue
from selectq.parsing.rows import Arrival, Callback, ClaimedFile, FoundFile, Lane, Metrics, Scanned, Waiting
from selectq.parsing.settings import Settings

__all__ = [
    "Arrival",
    "Callback",
    "ClaimedFile",
    "FoundFile",
    "Lane",
    "Metrics",
    "ParseQueue",
    "Scanned",
    "Settings",
    "Waiting",
]
