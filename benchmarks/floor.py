"""The least that a claim could cost: one UPDATE of the same rows by primary key, which selects and checks nothing."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence

import sqlalchemy as sa

from selectq.rows import Key

UPDATE = {
    "postgresql": """
        UPDATE task_instance AS ti
        SET state = 'queued', queued_dttm = current_timestamp, queued_by = 'bench', claim_token = k.claim_token
        FROM jsonb_to_recordset(CAST(:keys AS jsonb)) AS k (
            dag_id text, run_id text, task_id text, map_index integer, claim_token uuid
        )
        WHERE ti.dag_id = k.dag_id AND ti.run_id = k.run_id AND ti.task_id = k.task_id AND ti.map_index = k.map_index
    """,
    "mysql": """
        UPDATE /*+ NO_BNL() INDEX(ti PRIMARY) */ JSON_TABLE(:keys, '$[*]' COLUMNS (
            dag_id VARCHAR(250) PATH '$.dag_id',
            run_id VARCHAR(250) PATH '$.run_id',
            task_id VARCHAR(250) PATH '$.task_id',
            map_index INT PATH '$.map_index',
            claim_token CHAR(32) PATH '$.claim_token'
        )) AS k
        STRAIGHT_JOIN task_instance AS ti
            ON ti.dag_id = k.dag_id COLLATE utf8mb4_0900_bin
            AND ti.run_id = k.run_id COLLATE utf8mb4_0900_bin
            AND ti.task_id = k.task_id COLLATE utf8mb4_0900_bin
            AND ti.map_index = k.map_index
        SET
            ti.state = 'queued', ti.queued_dttm = UTC_TIMESTAMP(6), ti.queued_by = 'bench',
            ti.claim_token = k.claim_token
    """,
}


def as_parameter(keys: Sequence[Key]) -> str:
    """The keys as the statement takes them, each with a claim token."""
    names = ("dag_id", "run_id", "task_id", "map_index")
    return json.dumps([{**dict(zip(names, key, strict=True)), "claim_token": uuid.uuid4().hex} for key in keys])


def update(connection: sa.Connection, keys: str) -> int:
    """Run it in the caller's transaction; how many rows were changed."""
    return connection.execute(sa.text(UPDATE[connection.dialect.name]), {"keys": keys}).rowcount
