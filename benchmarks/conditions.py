"""When and on what something was measured; nothing that names the machine."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform

LIBRARIES = ("selectq", "sqlalchemy", "psycopg", "PyMySQL")


def today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def cores() -> int:
    return os.cpu_count() or 1


def of_run(date: datetime.date, cores: int) -> dict[str, object]:
    """For a JSON file of results."""
    return {
        "date": date.isoformat(),
        "cores": cores,
        "machine": platform.machine(),
        "python": platform.python_version(),
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
    }


def in_words(cores: int) -> str:
    return f"{cores} {'core' if cores == 1 else 'cores'}"
