"""Play one story with one way of selecting, pass after pass, in model time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import sqlalchemy as sa

from selectq.demo.counting import Traffic, count_traffic
from selectq.demo.limit_then_filter import limit_then_filter
from selectq.demo.stories import Story, load, metadata_for
from selectq.rows import Key
from selectq.scheduler_pass import SchedulerPass

Method = Callable[[sa.Engine, int], list[Key]]


@dataclass
class Outcome:
    """What one way of selecting did with a story.

    Attributes:
        method: name of the way.
        limit: after how many passes it had to stop.
        passes: how many it took.
        started: dag_id -> TIs started.
        first: the pass in which the first TI of the starved dag started; None: in none.
        traffic: statements and rows, all passes together.
    """

    method: str
    limit: int
    started: dict[str, int]
    passes: int = 0
    first: int | None = None
    traffic: Traffic = field(default_factory=Traffic)

    @property
    def statements_per_pass(self) -> float:
        return round(self.traffic.statements / self.passes, 1)

    @property
    def rows_per_pass(self) -> float:
        return round(self.traffic.rows / self.passes, 1)


def with_selectq(engine: sa.Engine, max_tis: int) -> list[Key]:
    """One pass of selectq: everything that fits, up to ``max_tis``."""
    with SchedulerPass(engine, max_tis=max_tis, queued_by="demo") as scheduler_pass:
        return [claimed.key for claimed in scheduler_pass.claim()]


METHODS: dict[str, Method] = {"limit-then-filter": limit_then_filter, "selectq": with_selectq}


def play(
    engine: sa.Engine, story: Story, method: str, passes: int, watch: Callable[[Outcome], None] = lambda _: None
) -> Outcome:
    """Load the story and pass over it until the starved work has started, ``passes`` times at most.

    Model time: a TI that starts in a pass runs during that pass and is done before the next one. What runs when the
    story begins runs on throughout.

    Args:
        engine: on a database with selectq's tables; whatever they hold is replaced.
        story: the backlog.
        method: a key of ``METHODS``.
        passes: after how many to give up; at least 1.
        watch: called after each pass with the outcome so far.
    """
    load(engine, story)
    # What selectq checks of a server and its schema when it first sees them is no part of a pass.
    with SchedulerPass(engine):
        pass
    outcome = Outcome(method, passes, dict.fromkeys(story.pools, 0))
    while outcome.first is None and outcome.passes < passes:
        with count_traffic(engine, outcome.traffic):
            keys = METHODS[method](engine, story.max_tis)
        outcome.passes += 1
        for dag_id, *_ in keys:
            outcome.started[dag_id] += 1
        if outcome.started[story.starved]:
            outcome.first = outcome.passes
        watch(outcome)
        _finish(engine, keys)
    return outcome


def _finish(engine: sa.Engine, keys: list[Key]) -> None:
    if not keys:
        return
    ti = metadata_for(engine.dialect.name).tables["task_instance"]
    with engine.begin() as connection:
        connection.execute(
            ti.update()
            .where(sa.tuple_(ti.c.dag_id, ti.c.run_id, ti.c.task_id, ti.c.map_index).in_(keys))
            .values(state="success", claim_token=None)
        )
