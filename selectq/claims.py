"""What was selected, as the parameters of the queries that claim it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from selectq.rows import Claimed, Selected


def holders_of(selected: Sequence[Selected]) -> dict[str, list[Any]]:
    """The parameter ``holders`` of ``selection/lock_holders``: each pool, dag run and limited task once."""
    return {
        "pools": list({row.pool: None for row in selected}),
        "runs": list({(row.dag_id, row.run_id): None for row in selected}),
        "tasks": list({(row.dag_id, row.task_id): None for row in selected if row.task_free is not None}),
    }


def lockable_claims(selected: Sequence[Selected], locked: Sequence[Mapping[str, Any]]) -> list[tuple[str | int, ...]]:
    """The parameter ``claims`` of ``selection/claim``, of those whose dag run is locked now.

    Each has its key, its pool, a fresh token of 128 random bits, and whether its pool and its task are locked too.

    Args:
        locked: what ``selection/lock_holders`` or ``selection/lock_free_holders`` returned.
    """
    found = {
        row["holder_kind"]: {key if isinstance(key, str) else tuple(key) for key in row["locked"] or ()}
        for row in locked
    }
    return [
        (
            *row.key,
            row.pool,
            secrets.token_hex(16),
            row.pool in found["pool"],
            (row.dag_id, row.task_id) in found["task"],
        )
        for row in selected
        if (row.dag_id, row.run_id) in found["dag_run"]
    ]


def claimed_of(claimed: Sequence[Claimed]) -> list[tuple[str | int, ...]]:
    """The parameter ``claimed`` of ``selection/mark_queued`` and ``selection/held_claims``: key and claim token."""
    return [(*row.key, row.claim_token.hex) for row in claimed]
