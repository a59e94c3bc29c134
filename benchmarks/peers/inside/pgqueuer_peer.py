"""Runs in the environment of the claim libraries: pgqueuer, with an entrypoint for each holder of a limit."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import time
import uuid
from datetime import timedelta
from typing import Any

import asyncpg
from pgqueuer.db import AsyncpgDriver
from pgqueuer.ports.repository import EntrypointExecutionParameter
from pgqueuer.queries import Queries
from serve import serve
from source_rows import as_keys, source_rows

HELD, OURS = uuid.UUID(int=1), uuid.UUID(int=2)
NEVER_STALE = timedelta(days=1)


class Pgqueuer:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.connection = self.wait(
            asyncpg.connect(os.environ["PEER_URL"], server_settings={"search_path": os.environ["PEER_SCHEMA"]})
        )
        self.queries = Queries(AsyncpgDriver(self.connection))
        self.entrypoints: dict[str, EntrypointExecutionParameter] = {}

    def wait(self, awaitable: Any) -> Any:
        return self.loop.run_until_complete(awaitable)

    def version(self) -> str:
        return importlib.metadata.version("pgqueuer")

    def load(self, source: str, part: str, limits: dict[str, int]) -> None:
        self.wait(self.queries.install())
        self.wait(
            self.connection.execute(f"""
                INSERT INTO pgqueuer (
                    id, priority, entrypoint, payload, status, queue_manager_id, slot, created, updated, execute_after
                )
                SELECT
                    number, priority_weight, holder, CONVERT_TO(key, 'UTF8'),
                    CAST(CASE WHEN held THEN 'picked' ELSE 'queued' END AS pgqueuer_status),
                    CASE WHEN held THEN CAST('{HELD}' AS uuid) END, CASE WHEN held THEN place END,
                    NOW(), NOW(), NOW() - INTERVAL '1 hour'
                FROM ({source_rows(source, part)}) AS s
            """)
        )
        self.wait(self.connection.execute("VACUUM ANALYZE pgqueuer"))
        self.entrypoints = {
            holder: EntrypointExecutionParameter(concurrency_limit=limit) for holder, limit in limits.items()
        }

    def claim(self, max_tis: int, seconds: float) -> dict[str, Any]:
        """``seconds`` is not needed: it is one statement."""
        before = time.perf_counter()
        jobs = self.wait(self.queries.dequeue(max_tis, self.entrypoints, OURS, None, NEVER_STALE))
        ms = 1000 * (time.perf_counter() - before)
        return {"ms": ms, "keys": as_keys([job.payload.decode() for job in jobs]), "statements": 1}

    def reset(self) -> None:
        self.wait(
            self.connection.execute(
                "UPDATE pgqueuer SET status = 'queued', queue_manager_id = NULL, slot = NULL "
                "WHERE queue_manager_id = $1",
                OURS,
            )
        )


if __name__ == "__main__":
    peer = Pgqueuer()
    serve({"version": peer.version, "load": peer.load, "claim": peer.claim, "reset": peer.reset})
