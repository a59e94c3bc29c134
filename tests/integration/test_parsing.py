"""The parse queue by example: what each rule does, on every engine, at a clock that the test sets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from selectq.database import create_engine
from selectq.demo.counting import Traffic, count_traffic
from selectq.errors import DatabaseUnreachableError, InvalidParameterError, SchemaVersionError
from selectq.parsing import Arrival, ClaimedFile, FoundFile, ParseQueue, Settings, statements
from selectq.parsing.scan import parts
from selectq.schema import metadata

START = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
OLD = START - timedelta(days=1)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time

    def move(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(engine: sa.Engine, clock: Clock) -> ParseQueue:
    return ParseQueue(engine, Settings(timeout=60), claimed_by="me", clock=clock)


def scan(queue: ParseQueue, *paths: str, mtime: datetime = OLD) -> None:
    queue.scan("b", [FoundFile(path, mtime) for path in paths])


def read_all(queue: ParseQueue) -> list[str]:
    """Read everything that waits, one file at a time."""
    read = []
    while claimed := queue.claim():
        read.append(claimed[0].path)
        assert queue.finish(claimed[0])
    return read


def callback(path: str, payload: object = None, sla: bool = False) -> Arrival:
    return Arrival("b", path, "sla_callback" if sla else "dag_callback", payload)


def payloads(file: ClaimedFile) -> list[object]:
    return [each.payload for each in file.callbacks]


def test_empty(queue: ParseQueue) -> None:
    assert queue.claim(3) == []
    assert queue.refill() == 0
    assert queue.give_back() == 0
    assert queue.due() == []
    assert queue.waiting() == []
    found = queue.metrics()
    assert [(lane.lane, lane.depth, lane.oldest_age_ms) for lane in found.lanes] == [
        ("requested", 0, None),
        ("priority", 0, None),
        ("standard", 0, None),
    ]
    assert (found.files, found.outstanding, found.refills, found.refilled_at, found.merged) == (0, 0, 0, None, 0)
    assert queue.scan("b", []).found == 0


def test_new_files_first_then_in_turn(queue: ParseQueue, clock: Clock) -> None:
    scan(queue, "a", "b")
    assert read_all(queue) == ["a", "b"]
    clock.move(40)
    assert queue.refill() == 2
    scan(queue, "a", "b", "new")
    assert read_all(queue) == ["new", "a", "b"]


def test_a_refill_waits_until_the_last_one_is_handed_out(queue: ParseQueue, clock: Clock) -> None:
    scan(queue, "a", "b", "c")
    read_all(queue)
    clock.move(40)
    assert queue.refill() == 3
    clock.move(40)
    a, b = queue.claim(2)
    queue.finish(a)
    queue.finish(b)
    queue.enqueue([callback("b", sla=True)])
    assert queue.refill() == 0
    assert queue.metrics().outstanding == 1
    queue.claim(1)
    assert queue.metrics().outstanding == 0
    clock.move(40)
    assert queue.refill() == 2, "a, and b which waits already; c is being parsed"
    assert queue.metrics().refills == 2


def test_sla_callbacks_do_not_put_a_refill_off(queue: ParseQueue, clock: Clock) -> None:
    scan(queue, "a", "storm")
    read_all(queue)
    for _ in range(4):
        clock.move(35)
        queue.enqueue([callback("storm", sla=True)])
        queue.refill()
        assert "a" in read_all(queue)
        queue.enqueue([callback("storm", sla=True)])


def test_requests_go_first_and_only_once(queue: ParseQueue) -> None:
    scan(queue, "a", "b")
    queue.enqueue([callback("c")])
    queue.request("b", "b")
    queue.request("b", "b")
    first, second, third = queue.claim(3)
    assert [(file.path, file.lane, file.parse) for file in (first, second, third)] == [
        ("b", "requested", True),
        ("c", "priority", True),
        ("a", "standard", True),
    ]
    assert queue.metrics().merged == 1


def test_repeats_join_and_keep_their_place(queue: ParseQueue) -> None:
    queue.enqueue([callback("a", 1), callback("b", 2)])
    queue.enqueue([callback("b", 3), callback("a", {"z": 1, "a": [None, 1.5]}), callback("a", 2**70)])
    a, b = queue.claim(2)
    assert (a.path, payloads(a)) == ("a", [1, {"z": 1, "a": [None, 1.5]}, 2**70])
    assert list(a.callbacks[1].payload) == ["z", "a"], "to the letter"
    assert (b.path, payloads(b)) == ("b", [2, 3])
    assert queue.metrics().merged == 3


def test_one_reading_serves_all_lanes_in_the_order_of_arrival(queue: ParseQueue) -> None:
    scan(queue, "a", "b")
    queue.enqueue([callback("a", 1, sla=True), callback("a", 2), callback("a", 3, sla=True)])
    [file] = queue.claim(1)
    assert (file.path, file.lane, file.parse, payloads(file)) == ("a", "priority", True, [1, 2, 3])
    assert [row.path for row in queue.waiting()] == ["b"]


def test_what_arrives_while_a_file_is_read_waits_for_the_next_reading(queue: ParseQueue) -> None:
    queue.enqueue([callback("a", 1)])
    [file] = queue.claim(5)
    queue.enqueue([callback("a", 2)])
    assert queue.claim(5) == []
    assert queue.finish(file, dag_ids=["d"], duration=1.25)
    [again] = queue.claim(5)
    assert payloads(again) == [2]
    assert not again.parse, "just parsed: read for the callback alone"


def test_a_claim_that_was_given_back(queue: ParseQueue, clock: Clock) -> None:
    scan(queue, "a", "b")
    queue.enqueue([callback("a", 1)])
    [dead] = queue.claim(1)
    queue.enqueue([callback("a", 2), callback("c", 3)])
    clock.move(59)
    assert queue.give_back() == 0
    clock.move(1)
    assert queue.give_back() == 1
    assert not queue.finish(dead), "late"
    assert [(row.lane, row.path) for row in queue.waiting()] == [
        ("priority", "a"),
        ("priority", "c"),
        ("standard", "b"),
        ("standard", "a"),
    ], "at the back of its lanes, where nothing waits for it yet"
    again, _, _ = queue.claim(3)
    assert (again.path, payloads(again), again.parse) == ("a", [1, 2], True)
    assert queue.metrics().given_back == 1


def test_a_claim_from_a_clock_that_was_set_back(queue: ParseQueue, clock: Clock) -> None:
    queue.enqueue([callback("a", 1)])
    [dead] = queue.claim(1)
    clock.move(-3600)
    assert queue.give_back() == 0
    clock.move(60)
    assert queue.give_back() == 1
    assert not queue.finish(dead)


def test_a_file_read_after_now_is_due(queue: ParseQueue, clock: Clock) -> None:
    scan(queue, "a")
    read_all(queue)
    assert queue.due() == []
    clock.move(-3600)
    assert queue.due() == [("b", "a")]
    queue.refill()
    assert read_all(queue) == ["a"]
    assert queue.due() == []


def test_a_breather_ends_with_what_waited_or_after_the_interval(queue: ParseQueue, clock: Clock) -> None:
    scan(queue, *(f"f{number:02}" for number in range(20)))
    lanes = []
    for _ in range(80):
        queue.enqueue([callback("storm")])
        [file] = queue.claim(1)
        lanes.append(file.lane)
        queue.finish(file)
        clock.move(10)
    wait, turn = ["priority"] * 12, ["standard"] * 12
    assert lanes[:36] == wait + turn + wait
    assert lanes[36:44] == ["standard"] * 8
    assert set(lanes[44:]) == {"priority"}
    assert queue.metrics().breathers == 2


def test_a_share_is_kept_slot_by_slot(engine: sa.Engine, clock: Clock) -> None:
    queue = ParseQueue(engine, Settings(callback_share=0.75), clock=clock)
    scan(queue, *map(str, range(8)))
    lanes = []
    for _ in range(8):
        queue.enqueue([callback(f"callback {number}") for number in range(4)])
        [file] = queue.claim(1)
        lanes.append(file.lane[0])
        queue.finish(file)
    assert "".join(lanes) == "spppsppp"


def test_a_share_leaves_no_slot_free(engine: sa.Engine, clock: Clock) -> None:
    queue = ParseQueue(engine, Settings(callback_share=0), clock=clock)
    scan(queue, "a")
    queue.enqueue([callback("b"), callback("c"), callback("d")])
    assert [file.path for file in queue.claim(3)] == ["a", "b", "c"]


def test_deleted_files_leave_at_once(queue: ParseQueue) -> None:
    scan(queue, "a", "b", "c")
    queue.enqueue([callback("a", 1), callback("b", 2)])
    [claimed] = queue.claim(1)
    assert claimed.path == "a"
    scan(queue, "c")
    assert [row.path for row in queue.waiting()] == ["c"]
    assert not queue.finish(claimed)
    assert queue.metrics().files == 1


def test_what_came_in_since_the_listing_began_is_kept(queue: ParseQueue, clock: Clock) -> None:
    scan(queue, "old")
    listed_at = clock()
    clock.move(1)
    queue.enqueue([callback("fresh", 1)])
    found = queue.scan("b", [], listed_at)
    assert found.forgotten == 1
    assert [row.path for row in queue.waiting()] == ["fresh"]
    clock.move(1)
    assert queue.scan("b", [], clock()).forgotten == 1


def test_bundles_are_apart(queue: ParseQueue) -> None:
    scan(queue, "a")
    queue.scan("other", [FoundFile("a", OLD)])
    assert [(file.bundle, file.path) for file in queue.claim(5)] == [("b", "a"), ("other", "a")]
    assert queue.scan("other", []).forgotten == 1
    assert queue.metrics().files == 1


def test_edits(queue: ParseQueue, clock: Clock) -> None:
    scan(queue, "a", "b")
    read_all(queue)
    clock.move(5)
    scan(queue, "a", "b")
    assert queue.waiting() == []
    queue.scan("b", [FoundFile("a", OLD - timedelta(days=1)), FoundFile("b", OLD, "0" * 64)])
    assert read_all(queue) == ["a"], "an older time is a change; a first digest is none"
    assert queue.scan("b", [FoundFile("a", OLD), FoundFile("b", OLD, "1" * 64)]).changed == 2
    assert sorted(read_all(queue)) == ["a", "b"]


def test_an_edit_while_the_file_is_parsed(queue: ParseQueue, clock: Clock) -> None:
    scan(queue, "a")
    [file] = queue.claim(1)
    scan(queue, "a")
    assert queue.waiting() == [], "this version is being parsed"
    scan(queue, "a", mtime=clock())
    queue.finish(file)
    assert queue.due() == [("b", "a")]
    assert read_all(queue) == ["a"]
    assert queue.due() == []


def test_a_callback_counts_for_the_interval_but_is_no_parse(queue: ParseQueue, clock: Clock) -> None:
    scan(queue, "a")
    read_all(queue)
    clock.move(20)
    queue.enqueue([callback("a")])
    [file] = queue.claim(1)
    assert not file.parse
    queue.finish(file, error="ignored: nothing was parsed")
    clock.move(20)
    assert queue.due() == []
    queue.enqueue([callback("a")])
    [file] = queue.claim(1)
    assert file.parse, "30 s after its last parse it is parsed again while it is read anyway"


def test_results_are_kept(engine: sa.Engine, queue: ParseQueue, clock: Clock) -> None:
    scan(queue, "a")
    [file] = queue.claim(1)
    clock.move(2)
    queue.finish(file, error="a\0b" + "x" * 200_000, dag_ids=["d1", "é"], duration=None)
    table = metadata.tables["dag_file"]
    with engine.connect() as connection:
        row = connection.execute(sa.select(table)).one()
    assert (row.last_duration_ms, row.dag_ids, row.parses) == (2000, ["d1", "é"], 1)
    assert row.last_error.startswith("abx")
    assert len(row.last_error) == 100_000
    assert row.claim_token is None


@pytest.mark.parametrize("path", ["x" * 2000, "é" * 2000, "😀" * 2000, "a\\b'c\"%s:n", "A", "a ", "ä"])
def test_paths(queue: ParseQueue, path: str) -> None:
    others = ["a", "ä"]
    queue.scan("b" * 250, [FoundFile(each, OLD) for each in {path, *others}])
    queue.enqueue([Arrival("b" * 250, path, "dag_callback", path)])
    claimed = queue.claim(9)
    assert claimed[0].path == path
    assert payloads(claimed[0]) == [path]
    assert len(claimed) == len({path, *others})


def test_large_listings_are_taken_in_parts(queue: ParseQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selectq.parsing.queue.parts", lambda files: parts(files, size=7))
    names = [f"f{number}" for number in range(40)]
    assert queue.scan("b", [FoundFile(name, OLD) for name in names]).new == 40
    found = queue.scan("b", [FoundFile(name, START) for name in names[5:]])
    assert (found.found, found.new, found.changed, found.forgotten) == (35, 0, 35, 5)
    assert queue.scan("b", []).forgotten == 35


def test_a_folder(queue: ParseQueue, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("a.py", "sub/b.py", "note.txt", ".git/c.py"):
        (tmp_path / name).write_text("x = 1\n")
    broken = bytes(tmp_path) + b"/\xff.py"
    Path(broken.decode(errors="surrogateescape")).write_text("")
    found = queue.scan_folder("b", tmp_path, digest=True)
    assert (found.found, found.new, found.skipped) == (2, 2, (repr("\udcff.py"),))
    assert read_all(queue) == ["a.py", "sub/b.py"]
    assert queue.scan_folder("b", tmp_path, digest=True).changed == 0
    stat = (tmp_path / "a.py").stat()
    (tmp_path / "a.py").write_text("x = 2\n")
    os.utime(tmp_path / "a.py", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert queue.scan_folder("b", tmp_path).changed == 0
    assert queue.scan_folder("b", tmp_path, digest=True).changed == 1
    with pytest.raises(InvalidParameterError, match="is no folder"):
        queue.scan_folder("b", tmp_path / "absent")


@pytest.mark.parametrize(
    ("arrival", "problem"),
    [
        (Arrival("", "p", "requested"), "bundle: must be text of 1 to 250"),
        (Arrival("b" * 251, "p", "requested"), "bundle: "),
        (Arrival("b", "p" * 2001, "requested"), "path: must be text of 1 to 2000"),
        (Arrival("b", "p\0", "requested"), "path: "),
        (Arrival("b", "\udcff", "requested"), "path: "),
        (Arrival("b", "p", "disk"), "kind: expected one of: requested, dag_callback, sla_callback, not 'disk'"),
        (Arrival("b", "p", "requested", 1), "payload: is for callbacks"),
        (Arrival("b", "p", "dag_callback", float("nan")), "payload: can't be written as JSON"),
        (Arrival("b", "p", "dag_callback", object()), "payload: can't be written as JSON"),
    ],
)
def test_wrong_arrivals(queue: ParseQueue, arrival: Arrival, problem: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        queue.enqueue([callback("right"), arrival])
    assert str(caught.value).startswith(problem)
    assert queue.waiting() == []


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"callback_share": 1.1}, "callback_share"),
        ({"callback_share": float("nan")}, "callback_share"),
        ({"min_file_process_interval": -1}, "min_file_process_interval"),
        ({"max_file_process_interval": True}, "max_file_process_interval"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_wrong_settings(settings: dict[str, float], field: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"{field}: must be a number from"):
        Settings(**settings)


@pytest.mark.parametrize("engine_name", ["postgresql", "mysql"])
def test_wrong_calls(engine: sa.Engine, queue: ParseQueue) -> None:
    with pytest.raises(InvalidParameterError, match="slots: must be a whole number from 1"):
        queue.claim(0)
    with pytest.raises(InvalidParameterError, match="files: 'a' is listed twice"):
        queue.scan("b", [FoundFile("a", OLD), FoundFile("a", OLD)])
    with pytest.raises(InvalidParameterError, match="mtime: must be a datetime with a time zone"):
        queue.scan("b", [FoundFile("a", datetime(2026, 1, 1))])  # noqa: DTZ001
    with pytest.raises(InvalidParameterError, match="digest: must be a SHA-256"):
        queue.scan("b", [FoundFile("a", OLD, "abc")])
    with pytest.raises(InvalidParameterError, match="engine: must be a SQLAlchemy Engine"):
        ParseQueue("postgresql://")  # type: ignore[arg-type]
    queue.enqueue([callback("a")])
    [file] = queue.claim(1)
    with pytest.raises(InvalidParameterError, match="dag_ids: must be a list of dag ids"):
        queue.finish(file, dag_ids="d")
    with (
        engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection,
        pytest.raises(InvalidParameterError, match="connection: a claim needs isolation level READ COMMITTED"),
    ):
        statements.claim(connection, 1, Settings())


def test_without_tables(empty_engine: sa.Engine) -> None:
    with pytest.raises(SchemaVersionError, match="selectq migrate"):
        ParseQueue(empty_engine).claim()


def test_no_server() -> None:
    engine = create_engine("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(DatabaseUnreachableError, match="cannot connect to"):
        ParseQueue(engine).claim()


def test_the_databases_clock(engine: sa.Engine) -> None:
    queue = ParseQueue(engine, Settings(min_file_process_interval=0))
    before = queue.now()
    assert abs(before - datetime.now(UTC)) < timedelta(minutes=5)
    queue.scan("b", [FoundFile("a", OLD)])
    [file] = queue.claim(1)
    queue.finish(file)
    table = metadata.tables["dag_file"]
    with engine.connect() as connection:
        row = connection.execute(sa.select(table)).one()
    times = [each.replace(tzinfo=UTC) for each in (row.found_at, row.last_parse_start, row.last_parse_end)]
    assert before <= times[0] <= times[1] <= times[2] <= queue.now()
    assert row.last_duration_ms >= 0
    assert queue.refill() == 1


def statements_of(engine: sa.Engine, queue: ParseQueue, slots: int) -> int:
    traffic = Traffic()
    with count_traffic(engine, traffic):
        queue.claim(slots)
    return traffic.statements


def test_a_claim_takes_the_same_statements_whatever_waits(engine: sa.Engine, queue: ParseQueue) -> None:
    scan(queue, *map(str, range(300)))
    queue.enqueue([callback(str(number % 50), number) for number in range(200)])
    queue.request("b", "7")
    assert {statements_of(engine, queue, slots) for slots in (1, 2, 50, 100)} == {7}


@pytest.fixture
def second(engine: sa.Engine) -> Iterator[sa.Engine]:
    made = create_engine(engine.url)
    yield made
    made.dispose()


def test_a_killed_connection_loses_nothing(engine: sa.Engine, second: sa.Engine, queue: ParseQueue) -> None:
    scan(queue, "a")
    queue.enqueue([callback("a", 1)])
    with second.connect() as doomed:
        identity = doomed.scalar(sa.text(
            "SELECT connection_id()" if engine.dialect.name == "mysql" else "SELECT pg_backend_pid()"
        ))
        doomed.rollback()
        assert len(statements.claim(doomed, 1, queue.settings, now=START)) == 1
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as killer:
            kill = f"KILL {identity}" if engine.dialect.name == "mysql" else f"SELECT pg_terminate_backend({identity})"
            killer.exec_driver_sql(kill)
        with pytest.raises(sa.exc.DBAPIError):
            doomed.execute(sa.text("SELECT 1"))
        doomed.invalidate()
    [file] = queue.claim(1)
    assert payloads(file) == [1]
