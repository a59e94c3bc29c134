"""Checks of the query files: what a reviewer should not have to look for.

``check_files`` needs the files alone, ``check_database`` asks a server to prepare every statement.
"""

from __future__ import annotations

from selectq.checks.finding import Finding
from selectq.checks.live import check_database
from selectq.checks.offline import check_files

__all__ = ["Finding", "check_database", "check_files"]
