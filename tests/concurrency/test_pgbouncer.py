"""Passes behind a proxy that gives each transaction any of a few sessions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from selectq import schema
from selectq.database import create_engine
from selectq.errors import InvalidParameterError
from selectq.scheduler_pass import SchedulerPass
from tests.concurrency.test_commit_order import fill
from tests.concurrency.test_locks import DISJOINT
from tests.servers.pgbouncer import Proxy, pgbouncer
from tests.world_tables import states

pytestmark = pytest.mark.parametrize("engine_name", ["postgresql", "postgresql15"])

SESSIONS = 2
ti = schema.metadata.tables["task_instance"]


@pytest.fixture
def proxy(engine_url: str, tmp_path: Path) -> Iterator[Proxy]:
    with pgbouncer(sa.make_url(engine_url), tmp_path, SESSIONS) as running:
        yield running


@pytest.fixture
def proxied(proxy: Proxy) -> Iterator[sa.Engine]:
    engine = create_engine(proxy.url, proxy=True)
    yield engine
    engine.dispose()


def test_passes_share_a_few_sessions(engine: sa.Engine, proxied: sa.Engine) -> None:
    """More schedulers than sessions, and more passes than psycopg needs to prepare a statement."""
    fill(engine, DISJOINT)
    failures: list[BaseException] = []
    won: list[str] = []

    def scheduler() -> None:
        try:
            for _ in range(12):
                with SchedulerPass(proxied, max_tis=2, attempts=20) as p:
                    claimed = p.claim()
                    p.blocked_by()
                won.extend(row.claim_token.hex for row in claimed)
                keys = [(row.dag_id, row.map_index) for row in claimed]
                with proxied.begin() as connection:
                    done = sa.update(ti).where(sa.tuple_(ti.c.dag_id, ti.c.map_index).in_(keys))
                    connection.execute(done.values(state="success"))
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=scheduler) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(set(won)) == len(won) == len(DISJOINT.instances)
    with engine.connect() as connection:
        assert set(states(connection).values()) == {"success"}


def test_nothing_stays_in_a_session(engine: sa.Engine, proxied: sa.Engine) -> None:
    fill(engine, DISJOINT)
    for _ in range(8):
        with SchedulerPass(proxied, max_tis=1) as p:
            p.claim()
    with proxied.connect() as connection:
        kept = [
            connection.scalar(sa.text(f"SELECT count(*) FROM {name}"))
            for name in ("pg_prepared_statements", "pg_locks WHERE locktype = 'advisory'", "pg_cursors")
        ]
        assert kept == [0, 0, 0]
        assert connection.scalar(sa.text("SELECT count(*) FROM pg_class WHERE relpersistence = 't'")) == 0
        assert connection.scalar(sa.text("SHOW random_page_cost")) == "4"


@pytest.mark.parametrize("at", ["before_cursor_execute", "after_cursor_execute", "commit"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_proxy_that_dies_in_a_claim_costs_time_only(
    engine: sa.Engine, proxy: Proxy, proxied: sa.Engine, at: str, number: int
) -> None:
    """It cuts the connection before or after a statement of a claim, or at its commit, and is there again."""
    fill(engine, DISJOINT)
    with SchedulerPass(proxied) as p:
        p.select()
    seen: list[str] = []

    def cut(*_: Any) -> None:
        seen.append(at)
        if len(seen) == number:
            proxy.kill()
            proxy.start()

    sa.event.listen(proxied, at, cut)
    won: list[str] = []
    with SchedulerPass(proxied, max_tis=3) as p:
        while claimed := p.claim():
            won += [row.claim_token.hex for row in claimed]
        assert p.select() == []
    assert len(seen) > number
    assert len(set(won)) == len(won) > 6
    with engine.connect() as connection:
        held = connection.scalars(sa.select(ti.c.claim_token).where(ti.c.state == "queued")).all()
    assert {token.hex for token in held if token} == set(won)


def test_settings_of_a_session_are_refused(proxied: sa.Engine) -> None:
    with pytest.raises(InvalidParameterError, match="settings: would be lost behind a proxy"):
        create_engine(proxied.url, {"search_path": "x"}, proxy=True)
