"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that is wrong. ``file`` is a path below ``sql/``."""

    file: str
    problem: str

    def __str__(self) -> str:
        return f"{self.file}: {self.problem}"
