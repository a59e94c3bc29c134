"""What was selected, as the parameters of the queries that claim it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from selectq.rows import Selected


def holders_of(selected: Sequence[Selected]) -> dict[str, list[Any]]:
    """The parameter ``holders`` of ``selection/lock_holders``: each pool, dag run and limited task once."""
    return {
        "pools": list({row.pool: None for row in selected}),
        "runs": list({(row.dag_id, row.run_id): None for row in selected}),
        "tasks": list({(row.dag_id, row.task_id): None for row in selected if row.task_free is not None}),
    }


def claims_of(selected: Sequence[Selected]) -> list[tuple[str | int, ...]]:
    """The parameter ``claims`` of ``selection/claim``: key, pool and a fresh token of 128 random bits for each row."""
    return [(*row.key, row.pool, secrets.token_hex(16)) for row in selected]
