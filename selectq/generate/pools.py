"""How many pools have room: what the first page of a selection is sized by where an engine reads page by page."""

from __future__ import annotations

import sqlalchemy as sa

from selectq.generate.render import Generated
from selectq.generate.usage import active, counted, pool_capacity, slot_pool, used_by_pool


def open_pools(dialect: str) -> Generated:
    used = used_by_pool(active(dialect))
    has_room = sa.or_(pool_capacity().is_(None), slot_pool.c.slots > counted(used.c.used))
    return Generated(
        name="selection/open_pools",
        purpose="Number of pools that have room.",
        result="row",
        statement=sa.select(sa.func.count().label("open_pools"))
        .select_from(sa.outerjoin(slot_pool, used, used.c.pool == slot_pool.c.pool))
        .where(has_room),
        columns={"open_pools": "integer; pools with at least one free slot, unlimited ones included"},
        limits="slots of queued and running task instances; of deferred ones too if the pool has include_deferred",
    )
