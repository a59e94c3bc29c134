"""What all files of results begin with, whatever was measured."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import conditions


def write(path: Path, command: str, engine: str, server: str, date: datetime.date, cores: int, **found: Any) -> Path:
    """Write a file, and its folder if need be: how it was made, then what was found."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {"command": command, "engine": engine, "server": server, **conditions.of_run(date, cores)}
    path.write_text(json.dumps(head | found, indent=1) + "\n", encoding="utf-8")
    return path


def read(path: Path) -> dict[str, Any]:
    """All of a file that ``write`` wrote."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def head_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of ``write`` that every class of results has as fields."""
    return {
        "engine": found["engine"],
        "server": found["server"],
        "date": datetime.date.fromisoformat(found["date"]),
        "cores": found["cores"],
    }
