"""``make bench-spread``: do four schedulers claim more than one, and how long do they wait for locks?

The network is what takes the time here, so that the server is not the bottleneck: each statement is sent after a
pause, as over a slow line. Each scheduler claims from a pool and runs of its own. In the same run, a variant takes one
lock for the whole claim first, as a scheduler with a global critical section does.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

import click
import sqlalchemy as sa

from benchmarks.servers import ENGINES, chosen_engines, given_urls, servers_for
from selectq import schema, selection
from selectq.cli.exits import plain_exits
from selectq.cli.output import print_table
from selectq.scratch import scratch_database

SCHEDULERS = 4
BATCH = 16
LINE_SECONDS = 0.03
WANTED_GAIN = 2.5
WANTED_WAIT = 0.10

tables = schema.metadata.tables
global_lock = sa.select(tables["dag"].c.dag_id).where(tables["dag"].c.dag_id == "global").with_for_update()


@dataclass
class Tally:
    """What one scheduler did: task instances claimed, seconds in all, seconds until lock statements were answered."""

    claimed: int = 0
    seconds: float = 0.0
    waited: float = 0.0


def load(engine: sa.Engine, rows: int) -> None:
    """So many scheduled rows for each scheduler, in a dag, a run and a pool of its own."""
    each = range(SCHEDULERS)
    values: dict[str, list[dict[str, Any]]] = {
        "slot_pool": [{"pool": f"pool_{n}", "slots": rows} for n in each],
        "dag": [{"dag_id": name, "max_active_tasks": rows} for name in ("global", *(f"dag_{n}" for n in each))],
        "dag_run": [{"dag_id": f"dag_{n}", "run_id": "r", "state": "running"} for n in each],
        "task_instance": [
            {
                "dag_id": f"dag_{n}", "run_id": "r", "task_id": "t", "map_index": index, "state": "scheduled",
                "pool": f"pool_{n}",
            }
            for n in each for index in range(rows)
        ],
    }  # fmt: skip
    with engine.begin() as connection:
        for name, found in values.items():
            connection.execute(sa.insert(tables[name]), found)


def scheduler(engine: sa.Engine, pool: str, seconds: float, with_global_lock: bool, tally: Tally) -> None:
    """Claim from one pool until the time is over."""
    with engine.connect() as connection:
        before: list[float] = [0.0]

        def line(*args: Any) -> None:
            time.sleep(LINE_SECONDS)
            before[0] = time.perf_counter()

        def answered(connection: Any, cursor: Any, sql: str, *rest: Any) -> None:
            if "locked_pool" in sql or "FOR UPDATE" in sql.splitlines()[-1]:
                tally.waited += time.perf_counter() - before[0]

        sa.event.listen(connection, "before_cursor_execute", line)
        sa.event.listen(connection, "after_cursor_execute", answered)
        candidates = [row for row in selection.select(connection, 1_000_000) if row.pool == pool]
        connection.rollback()
        tally.waited = 0.0
        start = time.perf_counter()
        while candidates and time.perf_counter() - start < seconds:
            with connection.begin():
                if with_global_lock:
                    connection.execute(global_lock)
                tally.claimed += len(selection.claim_selected(connection, candidates[:BATCH], pool))
                time.sleep(LINE_SECONDS)
            candidates = candidates[BATCH:]
        tally.seconds = time.perf_counter() - start


def measured(engine: sa.Engine, count: int, seconds: float, with_global_lock: bool = False) -> list[Tally]:
    """So many schedulers at once; all claims are taken back afterwards."""
    tallies = [Tally() for _ in range(count)]
    threads = [
        threading.Thread(target=scheduler, args=(engine, f"pool_{n}", seconds, with_global_lock, tally))
        for n, tally in enumerate(tallies)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with engine.begin() as connection:
        connection.execute(sa.update(tables["task_instance"]).values(state="scheduled", claim_token=None))
    return tallies


def per_second(tallies: list[Tally]) -> float:
    return sum(tally.claimed / tally.seconds for tally in tallies)


def wait_share(tallies: list[Tally]) -> float:
    """Share of the time that lock statements took, their own work included: an upper bound of the waiting."""
    return sum(tally.waited for tally in tallies) / sum(tally.seconds for tally in tallies)


@click.command()
@click.option("--engine", "engines", multiple=True, type=click.Choice(ENGINES), help="Only this one; default: both.")
@click.option("--seconds", default=5.0, show_default=True, help="Length of each of the three measurements.")
@click.option("--url-postgresql", metavar="URL", help="A running server, instead of one started for the run.")
@click.option("--url-mysql", metavar="URL", help="Likewise.")
def main(engines: tuple[str, ...], seconds: float, url_postgresql: str | None, url_mysql: str | None) -> None:
    """Measure; exit code 1 if four schedulers gain too little or wait too long."""
    chosen = chosen_engines(engines)
    rows: list[tuple[object, ...]] = []
    missed = False
    with plain_exits(), servers_for(chosen, given_urls(url_postgresql, url_mysql)) as urls:
        for name in chosen:
            with scratch_database(urls[name]) as engine:
                load(engine, int(200 * BATCH * max(1.0, seconds / 5)))
                found = {
                    "one scheduler": measured(engine, 1, seconds),
                    "four": measured(engine, SCHEDULERS, seconds),
                    "four, one global lock": measured(engine, SCHEDULERS, seconds, with_global_lock=True),
                }
            alone = per_second(found["one scheduler"])
            for variant, tallies in found.items():
                gain, share = per_second(tallies) / alone, wait_share(tallies)
                rows.append((name, variant, f"{per_second(tallies):.0f}", f"{gain:.1f}", f"{100 * share:.0f} %"))
                missed |= variant == "four" and (gain < WANTED_GAIN or share > WANTED_WAIT)
    print_table(["engine", "variant", "claims per s", "against one", "in lock statements"], rows)
    click.echo(f"\nwanted of four: at least {WANTED_GAIN} times one, at most {WANTED_WAIT:.0%} in lock statements")
    sys.exit(missed)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.spread")
