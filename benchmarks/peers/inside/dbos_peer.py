"""Runs in the environment of the claim libraries: DBOS, with a queue for each pool or a partition for each task."""

from __future__ import annotations

import importlib.metadata
import os
import time
import uuid
from typing import Any

import sqlalchemy as sa
from dbos._queue import _INTERNAL_QUEUE_CONSTRUCTION, Queue
from dbos._serialization import DefaultSerializer
from dbos._sys_db import SystemDatabase
from serve import serve
from source_rows import as_keys, source_rows

EXECUTOR, VERSION = "bench", "1"


class Dbos:
    def __init__(self) -> None:
        self.schema = os.environ["PEER_SCHEMA"]
        self.database = SystemDatabase.create(
            system_database_url=os.environ["PEER_URL"],
            engine_kwargs={"connect_args": {"options": f"-csearch_path={self.schema}"}},
            engine=None,
            schema=self.schema,
            serializer=DefaultSerializer(),
            executor_id=EXECUTOR,
            use_listen_notify=False,
        )
        self.queues: list[Queue] = []
        self.statements = 0
        sa.event.listen(self.database.engine, "after_cursor_execute", self._count)

    def _count(self, *_: Any) -> None:
        self.statements += 1

    def version(self) -> str:
        return importlib.metadata.version("dbos")

    def load(self, source: str, part: str, limits: dict[str, int]) -> None:
        self.database.run_migrations()
        partitioned = part == "one-at-a-time"
        queue, partition = ("'tasks'", "holder") if partitioned else ("holder", "NULL")
        with self.database.engine.begin() as connection:
            connection.execute(
                sa.text(f"""
                    INSERT INTO workflow_status (
                        workflow_uuid, status, name, queue_name, queue_partition_key, priority, created_at, executor_id
                    )
                    SELECT
                        key, CASE WHEN held THEN 'PENDING' ELSE 'ENQUEUED' END, 'task', {queue}, {partition},
                        1000 - priority_weight, number, CASE WHEN held THEN 'other' END
                    FROM ({source_rows(source, part)}) AS s
                """)
            )
        with self.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(sa.text("VACUUM ANALYZE workflow_status"))
        if partitioned:
            self.queues = [queue_of("tasks", partition_concurrency=1)]
        else:
            self.queues = [queue_of(holder, concurrency=limit) for holder, limit in limits.items()]

    def claim(self, max_tis: int, seconds: float) -> dict[str, Any]:
        """What a poll of each queue claims, which has no limit over all queues; ``seconds`` is not needed."""
        self.statements = 0
        before = time.perf_counter()
        keys: list[str] = []
        for queue in self.queues:
            owner = str(uuid.uuid4())
            if queue._partition_concurrency:
                keys += self.database.start_queued_partitioned_workflows(
                    queue, EXECUTOR, VERSION, max_tis, owner_xid=owner
                )
            else:
                found, _ = self.database.start_queued_workflows(queue, EXECUTOR, VERSION, None, owner_xid=owner)
                keys += found
        ms = 1000 * (time.perf_counter() - before)
        return {"ms": ms, "keys": as_keys(keys), "statements": self.statements}

    def reset(self) -> None:
        with self.database.engine.begin() as connection:
            undo = "UPDATE workflow_status SET status = 'ENQUEUED', executor_id = NULL WHERE executor_id = :executor"
            connection.execute(sa.text(undo), {"executor": EXECUTOR})


def queue_of(name: str, **limits: int) -> Queue:
    """A queue as ``DBOS.register_queue`` makes one, without a running application around it."""
    return Queue(name, token=_INTERNAL_QUEUE_CONSTRUCTION, **limits)


if __name__ == "__main__":
    peer = Dbos()
    serve({"version": peer.version, "load": peer.load, "claim": peer.claim, "reset": peer.reset})
