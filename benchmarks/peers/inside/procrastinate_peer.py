"""Runs in the environment of the claim libraries: procrastinate, with a lock for each task of a dag."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import time
from typing import Any

import procrastinate
import psycopg
from serve import serve
from source_rows import as_keys, source_rows


class Procrastinate:
    def __init__(self) -> None:
        schema = f"-csearch_path={os.environ['PEER_SCHEMA']}"
        self.connection = psycopg.connect(os.environ["PEER_URL"], options=schema, autocommit=True)
        self.loop = asyncio.new_event_loop()
        connector = procrastinate.PsycopgConnector(
            conninfo=os.environ["PEER_URL"], kwargs={"options": schema}, min_size=1, max_size=1
        )
        self.app = procrastinate.App(connector=connector)
        self.loop.run_until_complete(self.app.open_async())
        self.worker = 0

    def version(self) -> str:
        return importlib.metadata.version("procrastinate")

    def load(self, source: str, part: str, limits: dict[str, int]) -> None:
        assert set(limits.values()) == {1}, "a lock is a limit of one"
        self.loop.run_until_complete(self.app.schema_manager.apply_schema_async())
        insert = "INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id"
        held, self.worker = (row[0] for row in [self.connection.execute(insert).fetchone() for _ in range(2)])
        # The triggers record and announce each new job: no part of a claim.
        self.connection.execute("ALTER TABLE procrastinate_jobs DISABLE TRIGGER USER")
        self.connection.execute(f"""
            INSERT INTO procrastinate_jobs (id, queue_name, task_name, priority, lock, args, status, worker_id)
            SELECT
                number, 'default', 'task', priority_weight, holder, JSONB_BUILD_OBJECT('key', key),
                CAST(CASE WHEN held THEN 'doing' ELSE 'todo' END AS procrastinate_job_status),
                CASE WHEN held THEN {held} END
            FROM ({source_rows(source, part)}) AS s
        """)
        self.connection.execute("ALTER TABLE procrastinate_jobs ENABLE TRIGGER USER")
        self.connection.execute("VACUUM ANALYZE procrastinate_jobs")

    def claim(self, max_tis: int, seconds: float) -> dict[str, Any]:
        """A job per call, as its workers do; gives up after ``seconds``."""
        before = time.perf_counter()
        keys = self.loop.run_until_complete(self._fetch(max_tis, before + seconds))
        ms = 1000 * (time.perf_counter() - before)
        return {"ms": ms, "keys": as_keys(keys), "statements": len(keys)}

    async def _fetch(self, max_tis: int, deadline: float) -> list[str]:
        keys: list[str] = []
        while len(keys) < max_tis and time.perf_counter() < deadline:
            job = await self.app.job_manager.fetch_job(None, self.worker)
            if job is None:
                break
            keys.append(job.task_kwargs["key"])
        return keys

    def reset(self) -> None:
        self.connection.execute("ALTER TABLE procrastinate_jobs DISABLE TRIGGER USER")
        undo = "UPDATE procrastinate_jobs SET status = 'todo', worker_id = NULL WHERE worker_id = %s"
        self.connection.execute(undo, [self.worker])
        self.connection.execute("ALTER TABLE procrastinate_jobs ENABLE TRIGGER USER")


if __name__ == "__main__":
    peer = Procrastinate()
    serve({"version": peer.version, "load": peer.load, "claim": peer.claim, "reset": peer.reset})
