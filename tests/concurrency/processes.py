"""The processes of a stress: schedulers, workers, and one that changes limits. They end when the stop file is there."""

from __future__ import annotations

import os
import random
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import stamina

from selectq import schema
from selectq.database import create_engine
from selectq.errors import (
    DatabaseReadOnlyError,
    DatabaseUnreachableError,
    RetriesExhaustedError,
    StatementCancelledError,
)
from selectq.scheduler_pass import SchedulerPass
from tests.concurrency.scene import change_of_limit

ti = schema.metadata.tables["task_instance"]
KEY = (ti.c.dag_id, ti.c.run_id, ti.c.task_id, ti.c.map_index)

# From, to, weight. A worker changes some rows of one state in a transaction of its own.
STEPS = (
    ("queued", "running", 5),
    ("running", "success", 4),
    ("running", "failed", 2),
    ("running", "deferred", 1),
    ("queued", "scheduled", 0.3),
    ("deferred", "scheduled", 2),
    ("success", None, 3),
    ("failed", "scheduled", 2),
    (None, "scheduled", 5),
    ("scheduled", None, 0.3),
)


CLAIMS_MEET = (RetriesExhaustedError, DatabaseUnreachableError, DatabaseReadOnlyError, StatementCancelledError)
"""What a claim may raise when faults are let loose, and nothing of the driver's."""

SQL_MEETS = (sa.exc.DBAPIError,)


@dataclass(frozen=True)
class Job:
    """What a process needs to know.

    Attributes:
        folder: where it writes what it was handed (``*.handed``), what it met (``*.trouble``), and why it broke
            (``*.broken``).
        kill: chance that a scheduler kills itself before a statement or at the end of a transaction.
        faults: whether errors of selectq are to be expected.
        scale: how many times as much each transaction takes as in a world of scale 1.
    """

    name: str
    url: str
    folder: Path
    seed: int
    kill: float = 0.0
    faults: bool = False
    scale: int = 1
    stress: int = field(default_factory=os.getpid)
    """The process that started it; without it there is nobody to end it."""

    @property
    def ended(self) -> bool:
        return (self.folder / "stop").exists() or not is_running(self.stress)

    def note(self, kind: str, text: str) -> None:
        with (self.folder / f"{self.name}-{os.getpid()}.{kind}").open("a") as file:
            file.write(f"{text}\n")


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def guarded(work: Callable[[Job, sa.Engine, random.Random], None], job: Job, met: tuple[type[Exception], ...]) -> None:
    """Work until the stress ends; errors other than ``met`` break it."""
    stamina.instrumentation.set_on_retry_hooks([])
    engine = create_engine(job.url, pool_size=1)
    draw = random.Random(f"{job.seed} {job.name} {os.getpid()}")
    try:
        while not job.ended:
            try:
                work(job, engine, draw)
            except met as error:
                # A deadlock is nothing unusual for plain SQL; selectq's own repeats must be enough for a scheduler.
                if not job.faults and not is_conflict(error):
                    raise
                job.note("trouble", f"{type(error).__name__}: {str(error).splitlines()[0]}")
                time.sleep(0.05)
    except BaseException:  # noqa: BLE001 - the stress reads it
        job.note("broken", traceback.format_exc())
    finally:
        engine.dispose()


def is_conflict(error: Exception) -> bool:
    orig = getattr(error, "orig", None)
    return getattr(orig, "sqlstate", None) == "40P01" or getattr(orig, "args", [None])[0] in (1205, 1213)


def scheduler(job: Job) -> None:
    """Claims in a loop, and writes down the tokens that it was handed."""
    guarded(claim_for_a_while, job, CLAIMS_MEET)


def claim_for_a_while(job: Job, engine: sa.Engine, draw: random.Random) -> None:
    if not hasattr(engine, "is_hooked"):
        hook(job, engine, draw)
    for _ in range(20):
        max_tis = draw.choice((8, 32, 64)) * job.scale
        with SchedulerPass(engine, max_tis=max_tis, queued_by=job.name, attempts=20) as p:
            claimed = p.claim()
        if claimed:
            job.note("handed", "\n".join(row.claim_token.hex for row in claimed))
        else:
            time.sleep(draw.uniform(0.05, 0.2))
        if job.ended:
            return


def hook(job: Job, engine: sa.Engine, draw: random.Random) -> None:
    """Pause now and then between two statements, and die there if that is asked for."""
    engine.is_hooked = True  # type: ignore[attr-defined]

    def between(*args: Any) -> None:
        if draw.random() < 0.1:
            time.sleep(draw.uniform(0, 0.01))
        if draw.random() < job.kill:
            os.kill(os.getpid(), signal.SIGKILL)

    for event in ("before_cursor_execute", "commit"):
        sa.event.listen(engine, event, between)


def worker(job: Job) -> None:
    """Starts, finishes, fails, defers, clears and schedules again, by plain SQL."""
    guarded(step, job, SQL_MEETS)


def step(job: Job, engine: sa.Engine, draw: random.Random) -> None:
    [(before, after, _)] = draw.choices(STEPS, [weight for *_, weight in STEPS])
    is_before = ti.c.state.is_(None) if before is None else ti.c.state == before
    most = draw.choice((8, 32, 64)) * job.scale
    with engine.begin() as connection:
        found = connection.execute(
            sa.select(*KEY).where(is_before).limit(most).with_for_update(skip_locked=True)
        ).all()
        if found:
            changes: dict[str, Any] = {"state": after}
            if after == "scheduled":
                changes["try_number"] = ti.c.try_number + 1
            if after not in ("queued", "running"):
                changes["claim_token"] = None
            keys = [tuple(row) for row in found]
            connection.execute(sa.update(ti).where(sa.tuple_(*KEY).in_(keys), is_before).values(changes))
    if not found:
        time.sleep(0.02)


def changer(job: Job) -> None:
    """Changes one limit after the other."""
    guarded(change, job, SQL_MEETS)


def change(job: Job, engine: sa.Engine, draw: random.Random) -> None:
    with engine.begin() as connection:
        connection.execute(change_of_limit(draw, job.scale))
    time.sleep(draw.uniform(0.02, 0.1))
