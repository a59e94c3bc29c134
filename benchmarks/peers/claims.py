"""Claim libraries with limits of their own, each in a schema beside selectq's tables. PostgreSQL only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa

from benchmarks.peers import parts
from benchmarks.peers.airflow_rows import schema
from benchmarks.peers.process import Peer, make_environment
from selectq.scratch import scratch_database


@dataclass(frozen=True)
class Library:
    """``parts``: the parts of the work that it can express; ``how``: by which of its limits, as a sentence."""

    name: str
    parts: tuple[str, ...]
    how: str


LIBRARIES = {
    library.name: library
    for library in (
        Library(
            "pgqueuer",
            ("pools", "one-at-a-time"),
            "An entrypoint for each pool, or for each task, with its concurrency_limit; one dequeue of 512.",
        ),
        Library(
            "procrastinate",
            ("one-at-a-time",),
            "A lock for each task; 512 calls that fetch a job each, as its workers do.",
        ),
        Library(
            "dbos",
            ("pools", "one-at-a-time"),
            "A queue for each pool with its concurrency, each polled once; or one queue with a partition for each task "
            "and a partition concurrency of 1, polled once for 512.",
        ),
    )
}


@contextmanager
def library(name: str, url: str, ours: sa.Engine, part: str) -> Iterator[Peer]:
    """The library with the rows that are in selectq's tables in ``ours``, in the same database.

    Raises:
        PeerError: it can't be installed, or its own code fails.
    """
    python = make_environment("claims")
    with ours.connect() as connection:
        source, limits = schema(connection), parts.limits(connection, part)
    with scratch_database(url, migrated=False) as theirs:
        with theirs.connect() as connection:
            own = schema(connection)
        plain = theirs.url.set(drivername="postgresql").render_as_string(hide_password=False)
        with Peer(python, f"{name}_peer.py", {"PEER_URL": plain, "PEER_SCHEMA": own}) as peer:
            peer.ask("load", source=source, part=part, limits=limits)
            yield peer
