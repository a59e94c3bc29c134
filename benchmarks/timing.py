"""Kinds of work that take turns on one connection, each timed in a transaction that is rolled back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

import sqlalchemy as sa

WARM_UP = {"postgresql": 12, "mysql": 4}
"""Turns before the first that counts: caches fill, each kind of work has gone first, and on Postgres each statement has
been prepared (psycopg does at the sixth time) and has the plan that it keeps (the server chooses at the sixth time)."""
WARM_UP_SECONDS = 20.0
"""They end after that many seconds if at least one is done."""


@dataclass(frozen=True)
class Times:
    """Milliseconds of each repetition."""

    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.runs)


def take_turns(
    connection: sa.Connection, works: Mapping[str, Callable[[], None]], runs: int, warm_up: int | None = None
) -> dict[str, Times]:
    """Do each work once per turn, ``runs`` times after the warm-up; None = as many turns as the engine needs."""
    names = list(works)
    taken: dict[str, list[float]] = {name: [] for name in names}

    def turn(number: int) -> dict[str, float]:
        # Each goes first in its turn, so that none always finds what another has left in the caches.
        first = number % len(names)
        return {name: timed(connection, works[name]) for name in names[first:] + names[:first]}

    started = time.perf_counter()
    for number in range(WARM_UP[connection.dialect.name] if warm_up is None else warm_up):
        turn(number)
        if time.perf_counter() - started > WARM_UP_SECONDS:
            break
    for number in range(runs):
        for name, milliseconds in turn(number).items():
            taken[name].append(milliseconds)
    return {name: Times(tuple(found)) for name, found in taken.items()}


def timed(connection: sa.Connection, work: Callable[[], None]) -> float:
    """Milliseconds that the work takes, without the rollback."""
    start = time.perf_counter()
    work()
    taken = time.perf_counter() - start
    roll_back(connection)
    return 1000 * taken


def roll_back(connection: sa.Connection) -> None:
    """End the transaction so that prepared statements stay, as they do for a scheduler that commits.

    ``psycopg.Connection.rollback`` forgets them. So the server is told behind psycopg's back; its own rollback, which
    SQLAlchemy calls next, then finds no transaction and leaves everything as it is.
    """
    driver = connection.connection.driver_connection
    if connection.dialect.name == "postgresql" and driver is not None:
        driver.pgconn.exec_(b"ROLLBACK")
    connection.rollback()
