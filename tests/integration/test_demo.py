"""The demo: what the usual loop starves, selectq starts; measured on every engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from selectq.demo.counting import Traffic, count_traffic
from selectq.demo.limit_then_filter import limit_then_filter
from selectq.demo.play import Outcome, play
from selectq.demo.stories import Story, load, mapped_story, metadata_for, pools_story
from selectq.scratch import PREFIX
from tests.interrupts import heed_interrupts

ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "SELECTQ_DB")
}


def small_pools(hot: int = 40) -> Story:
    return pools_story(hot=hot, idle=5, slots=3, held=2, max_tis=4)


def small_mapped(flood: int = 60) -> Story:
    return mapped_story(flood=flood, limit=2, small=3, max_tis=8)


def test_the_usual_loop_starves_the_idle_pool(engine: sa.Engine) -> None:
    outcome = play(engine, small_pools(), "limit-then-filter", passes=6)
    assert (outcome.passes, outcome.first) == (6, None)
    assert outcome.started == {"hot_dag": 6, "idle_dag": 0}


def test_selectq_fills_the_idle_pool_at_once(engine: sa.Engine) -> None:
    outcome = play(engine, small_pools(), "selectq", passes=6)
    assert (outcome.passes, outcome.first) == (1, 1)
    assert outcome.started == {"hot_dag": 1, "idle_dag": 3}


def test_the_usual_loop_starves_the_small_dag(engine: sa.Engine) -> None:
    outcome = play(engine, small_mapped(), "limit-then-filter", passes=5)
    assert (outcome.passes, outcome.first) == (5, None)
    assert outcome.started == {"dag_a": 10, "dag_b": 0}


def test_selectq_starts_the_small_dag_at_once(engine: sa.Engine) -> None:
    outcome = play(engine, small_mapped(), "selectq", passes=5)
    assert (outcome.passes, outcome.first) == (1, 1)
    assert outcome.started == {"dag_a": 2, "dag_b": 3}


def test_the_usual_loop_gets_there_once_the_hot_backlog_has_shrunk(engine: sa.Engine) -> None:
    # One of 6 a pass: the fourth pass finds 3 left, and its fetch of 4 reaches the idle pool.
    outcome = play(engine, small_pools(hot=6), "limit-then-filter", passes=20)
    assert (outcome.first, outcome.started) == (4, {"hot_dag": 4, "idle_dag": 1})


def test_the_usual_loop_is_no_straw_man(engine: sa.Engine) -> None:
    """It leaves out full pools, and tries again without what was in the way when nothing fitted."""
    load(engine, pools_story(hot=40, idle=5, slots=3, held=3, max_tis=4))
    assert [key[0] for key in limit_then_filter(engine, 4)] == ["idle_dag"] * 3

    load(engine, small_mapped())
    assert [key[0] for key in limit_then_filter(engine, 8)] == ["dag_a"] * 2
    assert [key[0] for key in limit_then_filter(engine, 8)] == ["dag_b"] * 3
    assert limit_then_filter(engine, 8) == []


def test_both_play_on_the_same_data(engine: sa.Engine) -> None:
    ti = metadata_for(engine.dialect.name).tables["task_instance"]
    contents = []

    def note(outcome: Outcome) -> None:
        with engine.connect() as connection:
            contents.append((outcome.method, connection.scalar(sa.select(sa.func.count()).select_from(ti))))

    for method in ("limit-then-filter", "selectq"):
        play(engine, small_pools(), method, passes=1, watch=note)
    assert contents == [("limit-then-filter", 47), ("selectq", 47)]


def test_statements_and_rows_are_counted(engine: sa.Engine) -> None:
    load(engine, small_pools())
    ti = metadata_for(engine.dialect.name).tables["task_instance"]
    traffic = Traffic()
    with engine.begin() as connection, count_traffic(engine, traffic):
        connection.execute(sa.select(ti.c.task_id)).all()
        connection.execute(sa.select(ti.c.task_id).limit(10)).first()
        connection.execute(ti.update().values(try_number=2))
    with engine.begin() as connection:
        connection.execute(sa.select(ti.c.task_id)).all()
    assert (traffic.statements, traffic.rows) == (3, 47 + 10)


def selectq_demo(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "selectq", "demo", *arguments],
        env=ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_on_a_server_of_ones_own(empty_engine_url: str, empty_engine: sa.Engine) -> None:
    done = selectq_demo("--db", empty_engine_url, "--story", "pools", "--passes", "4")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "pools: limit-then-filter: pass 4 of at most 4, started: hot_dag 4, idle_dag 0" in done.stderr
    assert "first pass that starts idle_dag       not within 4" in done.stdout
    assert (
        "limit-then-filter started none in 4 passes (and 4 others) "
        "and selectq started 20 in pass 1 (and 1 other by then)."
    ) in " ".join(done.stdout.split())
    if empty_engine.dialect.name == "postgresql":
        assert not [name for name in sa.inspect(empty_engine).get_schema_names() if name.startswith(PREFIX)]
    assert sa.inspect(empty_engine).get_table_names() == []


def test_json(empty_engine_url: str, empty_engine: sa.Engine) -> None:
    done = selectq_demo("--json", "--story", "mapped", "--passes", "2", SELECTQ_DB=empty_engine_url)
    assert (done.returncode, done.stderr) == (0, "")
    [line] = done.stdout.splitlines()
    found = json.loads(line)
    assert (found["story"], found["engine"]) == ("mapped", empty_engine.dialect.name)
    assert [(run["method"], run["passes"], run["first_pass"]) for run in found["runs"]] == [
        ("limit-then-filter", 2, None),
        ("selectq", 1, 1),
    ]
    assert [started["count"] for started in found["runs"][1]["started"]] == [5, 10]


def test_json_is_a_line_per_story(temporary: Path) -> None:
    done = selectq_demo("--json", "--passes", "1", TMPDIR=str(temporary))
    assert [json.loads(line)["story"] for line in done.stdout.splitlines()] == ["pools", "mapped"]


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files that the embedded server's user may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_embedded(temporary: Path) -> None:
    done = selectq_demo("--story", "pools", "--passes", "3", TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("Starting an embedded Postgres\n")
    assert "pools, on PostgreSQL 18." in done.stdout
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    "sign",
    ["data/PG_VERSION", "data/postmaster.pid", "data/postmaster.opts"],
    ids=["while initdb writes", "while initdb runs a server", "while the server starts"],
)
def test_ctrl_c_leaves_nothing(temporary: Path, sign: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "selectq", "demo", "--passes", "100000"],
        env=ENVIRONMENT | {"TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=heed_interrupts,
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        while not list(temporary.glob(f"*/{sign}")):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert rest.endswith("Interrupted.\n")
    assert "Traceback" not in rest
    assert list(temporary.iterdir()) == []
