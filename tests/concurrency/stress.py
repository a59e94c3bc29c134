"""One stress: a world, its processes, faults on top if asked for, and what the checker says of the record."""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from uuid import UUID

import sqlalchemy as sa

from selectq.database import create_engine
from selectq.scheduler_pass import SchedulerPass
from tests.concurrency import audit, processes, scene
from tests.concurrency.checker import Replay, records
from tests.world_tables import states, store

SCHEDULERS = 8
WORKERS = 4
TOKEN_LINE = 33
PATIENCE = 60.0
"""Seconds without a single claim after which something hangs."""

Fault = Callable[[sa.Engine, random.Random], None]


@dataclass
class Outcome:
    """What a stress came to.

    Attributes:
        wrong: what must not be, in words; empty if all is well.
        claims: committed claims.
        shares: claims that each scheduler was handed, of those that lived to tell.
        trouble: errors that were met, by class.
        killed: how many schedulers ended by a signal.
        seconds: how long it ran, without set-up and check.
    """

    wrong: list[str]
    claims: int
    shares: Counter[str]
    trouble: Counter[str] = field(default_factory=Counter)
    killed: int = 0
    seconds: float = 0.0


class Stress:
    """Runs in a database with the schema and no rows, and leaves an audit table and triggers in it."""

    def __init__(
        self, url: str, claims: int, seed: int, kill: float = 0.0, faults: Sequence[Fault] = (), scale: int = 1
    ) -> None:
        self.url = url
        self.claims = claims
        self.seed = seed
        self.kill = kill
        self.faults = faults
        self.scale = scale
        self.killed = 0
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["tests.concurrency.processes"])

    def run(self) -> Outcome:
        world = scene.first_world(self.seed, self.scale)
        engine = create_engine(self.url)
        try:
            with engine.begin() as connection:
                store(connection, world)
            audit.install(engine)
            with tempfile.TemporaryDirectory() as folder:
                started = time.monotonic()
                self.work(engine, Path(folder))
                seconds = time.monotonic() - started
                if broken := [f"{path.name}: {path.read_text()}" for path in sorted(Path(folder).glob("*.broken"))]:
                    return Outcome(broken, 0, Counter())
                drained = drain(engine)
                replay = Replay(world)
                replay.play(records(engine))
                with engine.connect() as connection:
                    found = states(connection)
                return self.judge(replay, found, Path(folder), drained, seconds)
        finally:
            engine.dispose()

    def work(self, engine: sa.Engine, folder: Path) -> None:
        draw = random.Random(self.seed)
        living = [self.start(processes.scheduler, f"scheduler-{n}", folder) for n in range(SCHEDULERS)]
        living += [self.start(processes.worker, f"worker-{n}", folder) for n in range(WORKERS)]
        living.append(self.start(processes.changer, "changer", folder))
        last, seen = time.monotonic(), 0
        try:
            while seen < self.claims and not list(folder.glob("*.broken")):
                time.sleep(draw.uniform(0.1, 0.3))
                if self.faults:
                    began = time.monotonic()
                    draw.choice(self.faults)(engine, draw)
                    # How long a server takes to restart is not what is tested.
                    last += time.monotonic() - began
                living = [self.replaced(process, folder) for process in living]
                now = sum(file.stat().st_size for file in folder.glob("*.handed")) // TOKEN_LINE
                if now > seen:
                    last, seen = time.monotonic(), now
                elif time.monotonic() - last > PATIENCE:
                    (folder / "hang.broken").write_text(f"no claim for {PATIENCE} s after {seen} claims")
        finally:
            (folder / "stop").touch()
            for process in living:
                process.join(PATIENCE)
                if process.exitcode is None:
                    (folder / f"{process.name}.broken").write_text("does not end")
                    process.kill()
                    process.join()

    def start(self, target: Callable[[processes.Job], None], name: str, folder: Path) -> ForkServerProcess:
        kill = self.kill if target is processes.scheduler else 0.0
        job = processes.Job(name, self.url, folder, self.seed, kill, bool(self.kill or self.faults), self.scale)
        process = self.context.Process(target=target, args=(job,), name=name)
        process.start()
        return process

    def replaced(self, process: ForkServerProcess, folder: Path) -> ForkServerProcess:
        """The process, or a new one of its name if it was killed."""
        if process.exitcode is None or process.exitcode >= 0:
            return process
        self.killed += 1
        return self.start(processes.scheduler, process.name, folder)

    def judge(
        self, replay: Replay, found: dict[tuple[str, str, str, int], str | None], folder: Path,
        drained: list[UUID], seconds: float,
    ) -> Outcome:  # fmt: skip
        wrong = replay.faults[:20]
        if replay.state != found:
            wrong.append("the tables are not what the record leads to")
        if left := sum(state == "scheduled" for state in found.values()):
            wrong.append(f"{left} task instances wait although nothing limits them")
        handed: Counter[UUID] = Counter(drained)
        shares: Counter[str] = Counter()
        for path in folder.glob("*.handed"):
            tokens = [UUID(line) for line in path.read_text().splitlines()]
            handed.update(tokens)
            shares[path.name.rpartition("-")[0]] += len(tokens)
        if twice := [token for token, times in handed.items() if times > 1]:
            wrong.append(f"handed out twice: {twice[:5]}")
        if unknown := handed.keys() - replay.tokens:
            wrong.append(f"handed out but not committed: {list(unknown)[:5]}")
        if not (self.kill or self.faults) and (lost := replay.tokens - handed.keys()):
            wrong.append(f"committed but handed to nobody: {list(lost)[:5]}")
        trouble = Counter(
            line.partition(":")[0] for path in folder.glob("*.trouble") for line in path.read_text().splitlines()
        )
        return Outcome(wrong, replay.claims, shares, trouble, self.killed, seconds)


def drain(engine: sa.Engine) -> list[UUID]:
    """Claim all that waits, with no limit left; the claim tokens."""
    with engine.begin() as connection:
        scene.lift_all_limits(connection)
    tokens: list[UUID] = []
    with SchedulerPass(engine, queued_by="last") as p:
        while claimed := p.claim():
            tokens += [row.claim_token for row in claimed]
    return tokens
