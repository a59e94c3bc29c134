"""What the comparison with peers writes and prints, and how it talks to them; no peer is installed here."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.peers import plot, results, summary
from benchmarks.peers.__main__ import NAMES, OF_AIRFLOW, SIZES, main
from benchmarks.peers.airflow_rows import ROWS_PER_STEP, slices
from benchmarks.peers.claims import LIBRARIES
from benchmarks.peers.parts import PARTS
from benchmarks.peers.passes import Running
from benchmarks.peers.process import INSIDE, MAKE_ENVIRONMENT, Peer, PeerError
from benchmarks.peers.results import Passes, PeerResults, Repeated, Row, Side
from benchmarks.peers.run import begun, report

PINS = sorted((INSIDE.parent / "requirements").glob("*.txt"))
A, B, C = (("dag", "run", name, -1) for name in "abc")

AIRFLOW = Row(
    peer="airflow",
    version="3.3.2",
    workload="mixed",
    scheduled=1_000_000,
    seed=1,
    max_tis=512,
    theirs=Side((15_000.0, 14_000.0, 17_000.0), 441, 440, 71, 0, 7, 2149),
    selectq=Side((30.0, 25.0, 41.0), 512, 512, 0, 0, 3, 1027),
    repeated=Repeated(71, Passes((1.0, 1.0), (441, 400), 2, None), Passes((1.0, 1.0), (512, 510), 1, 1)),
)
LIBRARY = Row(
    peer="pgqueuer",
    version="1.6.0",
    workload="pools",
    scheduled=10_000,
    seed=1,
    max_tis=512,
    theirs=Side((20.0,), 512, 99, 0, 2, 1),
    selectq=Side((40.0,), 512, 512, 0, 0, 3, 1027),
)
FOUND = PeerResults("postgresql", "PostgreSQL 18.6", datetime.date(2026, 5, 4), 2, [AIRFLOW, LIBRARY])
MARKDOWN = """\
# Peers on PostgreSQL 18.6

`make bench-peers`, 2026-05-04, 2 cores. Times are medians in
milliseconds, with the lowest and the highest. Both sides of a row: same rows, same server, in turns.

## Apache Airflow 3.3.2
One pass, rolled back. Statements and rows fetched: Airflow / selectq.

| workload | scheduled | Airflow | selectq | times faster | started, Airflow | could have been, too | started, selectq \
| statements | rows fetched |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| mixed | 1,000,000 | 15,000 (14,000-17,000) | 30 (25-41) | 500 | 441 of 512 | 71 | 512 of 512 | 7 / 3 | 2,149 / 1,027 |

Passes one after the other, each committed; what one starts is done before the next.

| workload | scheduled | passes | started, Airflow | started, selectq | missed in pass 1 | first of them, Airflow \
| all of them, Airflow | all of them, selectq |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| mixed | 1,000,000 | 2 | 841 (441 to 400) | 1,022 (512 to 510) | 71 | pass 2 | not in 2 | pass 1 |

![Task instances started in each pass](img/plot.svg)

## Claim libraries
One claim of a batch, committed. Statements: the library / selectq.

| library | part | scheduled | library's claim | selectq's | ratio | claimed | of these in order \
| could have been, too | holders over their limit | claimed, selectq | statements |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| pgqueuer 1.6.0 | pools | 10,000 | 20 (20-20) | 40 (40-40) | 0.5 | 512 of 512 | 99 | 0 | 2 | 512 of 512 | 1 / 3 |

- pgqueuer: An entrypoint for each pool, or for each task, with its concurrency_limit; one dequeue of 512.
"""


def test_markdown() -> None:
    assert summary.markdown(FOUND, "img/plot.svg") == MARKDOWN


def test_markdown_of_what_was_measured_alone() -> None:
    only = PeerResults("mysql", "MySQL 9.7.4", FOUND.date, 2, [AIRFLOW])
    assert "Claim libraries" not in summary.markdown(only, None)
    assert "![" not in summary.markdown(only, None)
    only = PeerResults("mysql", "MySQL 9.7.4", FOUND.date, 2, [LIBRARY])
    assert "Airflow" not in summary.markdown(only, None)


def test_json_and_back(tmp_path: Path) -> None:
    path = FOUND.write(tmp_path)
    assert path.name == "2026-05-04-peers-postgresql.json"
    assert results.read(path) == FOUND
    first, second = json.loads(path.read_text())["rows"]
    assert (first["peer"], first["workload"], first["scheduled"]) == ("airflow", "mixed", 1_000_000)
    assert (first["times_faster"], first["fills_batch"]) == (500, True)
    assert second["repeated"] is None


def test_a_row_takes_the_place_of_an_earlier_one() -> None:
    found = PeerResults("postgresql", "PostgreSQL 18.6", FOUND.date, 2, [LIBRARY, AIRFLOW])
    again = Row(**{**vars(AIRFLOW), "repeated": None})
    found.add(again)
    assert found.rows == [again, LIBRARY]


def test_a_run_on_another_server_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.conditions.today", lambda: FOUND.date)
    FOUND.write(tmp_path)
    assert begun("postgresql", FOUND.server, tmp_path).rows == FOUND.rows
    assert begun("postgresql", "PostgreSQL 19", tmp_path).rows == []
    assert begun("mysql", FOUND.server, tmp_path).rows == []


def test_the_report_links_its_plot(tmp_path: Path) -> None:
    path = report(FOUND, tmp_path / "results", tmp_path / "img")
    assert "](../img/peers-started-postgresql.svg)" in path.read_text()
    svg = (tmp_path / "img" / "peers-started-postgresql.svg").read_text()
    assert "1,000,000 scheduled, mixed limits" in svg
    plot.draw(FOUND, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == svg


def test_no_plot_without_repeated_passes(tmp_path: Path) -> None:
    only = PeerResults("postgresql", "PostgreSQL 18.6", FOUND.date, 2, [LIBRARY])
    assert "![" not in report(only, tmp_path, tmp_path).read_text()
    assert not list(tmp_path.glob("*.svg"))


def test_when_the_missed_ones_start() -> None:
    running = Running({A, B})
    for keys in ([C], [A], [], [B]):
        running.add(1.5, keys)
    assert running.as_passes() == Passes((1.5,) * 4, (1, 1, 0, 1), first=2, all=4)


def test_slices_follow_each_other_and_hold_all() -> None:
    sizes = [(f"dag_{number:02}", 20_000) for number in range(10, 0, -1)]
    found = list(slices(sizes))
    assert [rows for *_, rows in found] == [60_000, 60_000, 60_000, 20_000]
    assert [first for first, *_ in found] == ["dag_01", "dag_04", "dag_07", "dag_10"]
    assert [last for _, last, _ in found] == ["dag_03", "dag_06", "dag_09", "dag_10"]
    assert ROWS_PER_STEP <= 60_000


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.stem)
def test_all_that_a_peer_needs_is_pinned(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+", line) for line in lines)
    names = [line.partition("==")[0].lower() for line in lines]
    assert len(set(names)) == len(names)


def test_the_peers_are_among_what_is_pinned() -> None:
    airflow, claims = ({*path.read_text().splitlines()} for path in PINS)
    assert "apache-airflow-core==3.3.2" in airflow
    assert {"psycopg2-binary", "mysqlclient", "aiomysql"} <= {line.partition("==")[0] for line in airflow}
    assert set(LIBRARIES) <= {line.partition("==")[0] for line in claims}


def test_each_peer_has_its_script_and_parts_that_exist() -> None:
    assert {f"{name}_peer.py" for name in ("airflow", *LIBRARIES)} == {path.name for path in INSIDE.glob("*_peer.py")}
    assert {part for library in LIBRARIES.values() for part in library.parts} == set(PARTS)


def test_the_install_script_is_a_shell_script() -> None:
    subprocess.run(["sh", "-n", MAKE_ENVIRONMENT], check=True)


SCRIPT = """\
import os, sys
sys.path.insert(0, os.environ["INSIDE"])
from serve import serve

def add(a, b):
    print("printed by the peer")
    return a + b

def fail():
    print("the reason", file=sys.stderr, flush=True)
    raise ValueError("no good")

serve({"add": add, "fail": fail, "leave": lambda: os._exit(3)})
"""


@pytest.fixture
def peer(tmp_path: Path) -> Peer:
    script = tmp_path / "some_peer.py"
    script.write_text(SCRIPT)
    return Peer(Path(sys.executable), str(script), {"INSIDE": str(INSIDE)})


def test_a_peer_answers(peer: Peer) -> None:
    with peer:
        assert peer.ask("add", a=1, b=2) == 3
        assert peer.ask("add", a="x", b="y") == "xy"


def test_a_peer_that_fails_says_why_and_goes_on(peer: Peer) -> None:
    with peer:
        with pytest.raises(PeerError, match=r"(?s)fail: ValueError: no good.*the reason"):
            peer.ask("fail")
        assert peer.ask("add", a=1, b=2) == 3


def test_a_peer_that_goes_away(peer: Peer) -> None:
    with peer:
        for _ in range(2):
            with pytest.raises(PeerError, match="the process ended"):
                peer.ask("leave")


def test_each_workload_comes_in_its_usual_sizes() -> None:
    assert set(SIZES) == set(NAMES)
    for name, kind in {**OF_AIRFLOW, **PARTS}.items():
        assert [kind(rows).rows for rows in SIZES[name]] == list(SIZES[name])


def test_rows_that_no_workload_comes_in() -> None:
    result = CliRunner().invoke(main, ["--rows", "15000", "--workload", "mixed"])
    assert result.exit_code == 2
    assert "--rows: rows must be a multiple of 10,000, not 15,000" in result.output
