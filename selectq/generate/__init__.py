"""SQLAlchemy-built queries, written to files under ``sql/`` by ``selectq sql generate``; never run from here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import PurePosixPath

from selectq.catalogue import DIALECTS
from selectq.generate import blocked, lookup, pools, upstream, usage
from selectq.generate.render import Generated, file_text

BUILDERS: tuple[Callable[[str], Generated], ...] = (
    pools.open_pools,
    usage.usage_by_pool,
    usage.usage_by_dag_run,
    usage.usage_by_task,
    blocked.blocked_by,
    lookup.task_instances,
    upstream.counts,
)


@functools.cache
def generated_files() -> tuple[tuple[PurePosixPath, str], ...]:
    """(path below ``sql/``, whole text) of every generated file, for both engines."""
    files = []
    for build in BUILDERS:
        for dialect in DIALECTS:
            query = build(dialect)
            path = PurePosixPath(dialect) / f"{query.name}.v{query.version}.sql"
            files.append((path, file_text(query, dialect, f"{build.__module__}.{build.__name__}")))
    return tuple(files)
