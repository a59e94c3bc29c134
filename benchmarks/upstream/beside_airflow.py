"""Airflow's own evaluation of dag runs, and selectq's of the same runs on the same server, in turns."""

from __future__ import annotations

import time
from collections.abc import Sequence

import sqlalchemy as sa

from benchmarks.measure import WrongResultError
from benchmarks.peers.airflow import airflow
from benchmarks.peers.airflow_rows import Say
from benchmarks.peers.passes import Answer
from benchmarks.peers.process import Peer
from benchmarks.upstream.results import Beside, Evaluated
from benchmarks.upstream.scale import Load
from selectq.demo.counting import Traffic, count_traffic
from selectq.rows import Decision, Key, RunKey
from selectq.scheduler_pass import SchedulerPass
from selectq.scratch import scratch_database

WARM_UP = 4
OURS_PER_TURN = 3
"""Of selectq's for each of Airflow's, the first of them with the server's caches as Airflow has left them."""


def beside(url: str, what: str, load: Load, repetitions: int, say: Say) -> Beside:
    """Measure both, Airflow ``repetitions`` times.

    Raises:
        PeerError: Airflow can't be installed, or its own code fails.
        WrongResultError: the two differ in what may be scheduled.
    """
    with scratch_database(url) as engine:
        runs = load(engine)
        with airflow(url, engine, say) as peer:
            return measured(what, engine, peer, runs, repetitions)


def measured(what: str, engine: sa.Engine, peer: Peer, runs: Sequence[RunKey], repetitions: int) -> Beside:
    theirs: list[Answer] = []
    ours: list[float] = []
    traffic = Traffic()
    with SchedulerPass(engine) as scheduler_pass:
        for number in range(WARM_UP + repetitions):
            answer = Answer.of(peer.ask("decide", runs=runs))
            taken = []
            for _ in range(OURS_PER_TURN):
                start = time.perf_counter()
                decisions = scheduler_pass.decide(runs, waiting=False)
                taken.append(1000 * (time.perf_counter() - start))
            same(answer.keys, decisions)
            if number >= WARM_UP:
                theirs.append(answer)
                ours += taken
        with count_traffic(engine, traffic):
            scheduler_pass.decide(runs, waiting=False)
        undecided = len(scheduler_pass.decide(runs))
    with engine.connect() as connection:
        instances = connection.execute(sa.text("SELECT COUNT(*) FROM task_instance")).scalar_one()
    last = theirs[-1]
    return Beside(
        what,
        peer.ask("version"),
        len(runs),
        instances,
        undecided,
        len(last.keys),
        Evaluated(tuple(answer.ms for answer in theirs), last.statements, last.rows or 0),
        Evaluated(tuple(ours), traffic.statements, traffic.rows),
    )


def same(theirs: Sequence[Key], decisions: Sequence[Decision]) -> None:
    ours = {row.key for row in decisions if row.decision == "run"}
    if differing := sorted(ours ^ {*theirs}):
        who = "selectq" if differing[0] in ours else "Airflow"
        raise WrongResultError(f"{len(differing)} task instances are ready for one side: {who} runs {differing[0]}")
