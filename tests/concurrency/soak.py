"""``make soak``: the stress in its long form, on servers that it starts, restarts and pauses itself."""

from __future__ import annotations

import random
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click
import sqlalchemy as sa
from docker.errors import APIError
from testcontainers.core.generic import DbContainer

from selectq import migrate
from selectq.database import create_engine
from tests.concurrency import faults
from tests.concurrency.stress import Fault, Stress
from tests.servers import containers
from tests.servers.names import SERVERS
from tests.servers.running import wait_for

ENGINES = ("postgresql", "mysql")
PORTS = {"postgresql": 5432, "mysql": 3306}
RESTART, PAUSE = 0.02, 0.08
"""How often it happens when it is its turn among the faults: about once in 50 s, once in 13 s."""

SCALE = 8
"""Passes of up to 512, so that 200,000 claims take minutes."""


@contextmanager
def own_server(name: str) -> Iterator[tuple[DbContainer, str]]:
    """A server whose data and port outlive a restart."""
    server = SERVERS[name]
    containers.configure([server])
    container = containers.make(server)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    container.tmpfs.clear()
    container.ports = {f"{PORTS[name]}/tcp": ("127.0.0.1", port)}
    with container:
        url = sa.make_url(container.get_connection_url()).set(host="127.0.0.1", port=port)
        text = url.render_as_string(hide_password=False)
        wait_for(server, text)
        yield container, text


def server_faults(container: DbContainer) -> tuple[Fault, ...]:
    inner = container.get_wrapped_container()

    def restart(engine: sa.Engine, draw: random.Random) -> None:
        if draw.random() < RESTART:
            inner.restart(timeout=60)

    def pause(engine: sa.Engine, draw: random.Random) -> None:
        if draw.random() < PAUSE:
            # The kernel may not manage to freeze all of a busy server: then it just goes on.
            with suppress(APIError):
                inner.pause()
                time.sleep(draw.uniform(0.5, 3))
            inner.reload()
            if inner.status == "paused":
                inner.unpause()

    return (restart, pause)


@click.command()
@click.option("--engine", "engines", multiple=True, type=click.Choice(ENGINES), help="Only this one; default: both.")
@click.option("--claims", type=click.IntRange(1), default=200_000, show_default=True, help="On each engine.")
@click.option("--seed", type=int, help="Default: another one each time.")
def main(engines: tuple[str, ...], claims: int, seed: int | None) -> None:
    """Stress each engine with all faults; exit code 1 if anything was wrong."""
    failed = False
    for name in engines or ENGINES:
        drawn = random.randrange(1_000_000) if seed is None else seed
        click.echo(f"{name}: {claims:,} claims, --seed {drawn}")
        with own_server(name) as (container, url):
            engine = create_engine(url)
            migrate.upgrade(engine)
            engine.dispose()
            outcome = Stress(url, claims, drawn, 0.005, (*faults.ALL, *server_faults(container)), SCALE).run()
        click.echo(
            f"{name}: {outcome.claims:,} claims in {outcome.seconds:.0f} s; {outcome.killed} schedulers killed; "
            f"met: {dict(outcome.trouble)}"
        )
        for line in outcome.wrong:
            click.echo(f"{name}: WRONG: {line}")
        failed |= bool(outcome.wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main(prog_name="python -m tests.concurrency.soak")
