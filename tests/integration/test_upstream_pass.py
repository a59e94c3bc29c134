"""Counting, deciding, applying and expanding in a pass: what is asked of the server, and what becomes of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

import selectq
from selectq import schema
from selectq.dags import Dag, Group, Task
from selectq.errors import InvalidParameterError
from selectq.scheduler_pass import SchedulerPass
from tests.world_tables import states

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
INSTANCE = schema.metadata.tables["task_instance"]


def put(engine: sa.Engine, rows: dict[tuple[str, str, int], str | None], dag_id: str = "d", **fields: Any) -> None:
    """Running runs and their rows: (run_id, task_id, map_index) -> state."""
    runs = schema.metadata.tables["dag_run"]
    with engine.begin() as connection:
        for run_id in dict.fromkeys(run_id for run_id, _, _ in rows):
            connection.execute(
                sa.insert(runs).values(dag_id=dag_id, run_id=run_id, state="running", logical_date=JANUARY)
            )
        connection.execute(
            sa.insert(INSTANCE),
            [
                {"dag_id": dag_id, "run_id": run, "task_id": task, "map_index": index, "state": state, **fields}
                for (run, task, index), state in rows.items()
            ],
        )


def rows_of(engine: sa.Engine) -> dict[tuple[str, int], str | None]:
    with engine.connect() as connection:
        return {(key[2], key[3]): state for key, state in states(connection).items()}


@contextmanager
def questions(engine: sa.Engine) -> Iterator[list[str]]:
    """The statements that count upstreams."""
    found: list[str] = []

    def before(connection: sa.Connection, cursor: Any, sql: str, *rest: Any) -> None:
        if "AS instances" in sql:
            found.append(sql)

    sa.event.listen(engine, "before_cursor_execute", before)
    yield found
    sa.event.remove(engine, "before_cursor_execute", before)


def test_sixty_downstreams_of_one_mapped_upstream_cost_one_question_each_time(engine: sa.Engine) -> None:
    downstreams = [Task(f"t{number}", upstream=["mapped"]) for number in range(60)]
    selectq.define(engine, Dag("d", [Task("mapped", is_mapped=True), *downstreams]))
    put(engine, {("r", "mapped", index): "running" for index in range(5)})
    for state, done in (("running", 0), ("success", 5)):
        with engine.begin() as connection:
            connection.execute(sa.update(INSTANCE).values(state=state))
        with questions(engine) as asked, SchedulerPass(engine) as p:
            for task in downstreams:
                counts = p.upstream_counts("d", "r", task.upstream)
                assert (counts.count(), counts.count("success")) == (5, done)
            assert (p.memo_stats.hits, p.memo_stats.misses) == (59, 1)
        assert len(asked) == 1


def test_all_runs_of_a_pass_are_asked_for_at_once_and_growth_costs_one_question_more(engine: sa.Engine) -> None:
    tasks = [Task("mapped", is_mapped=True), *(Task(f"t{number}") for number in range(10))]
    selectq.define(engine, Dag("d", tasks))
    runs = [f"r{number:03}" for number in range(200)]
    put(engine, {(run, task.task_id, -1): None for run in runs for task in tasks})
    sets = [["mapped", f"t{a}", f"t{b}"] for a in range(10) for b in range(a)] + [[f"t{a}"] for a in range(5)]
    assert len(sets) == 50

    with questions(engine) as asked, SchedulerPass(engine) as p:
        p.prefetch_upstream_counts([("d", run) for run in runs])
        for run in runs:
            assert [p.upstream_counts("d", run, names).count() for names in sets] == [3] * 45 + [1] * 5
        assert len(asked) == 1
        assert p.memo_stats.misses == 0

        assert p.expand("d", "r007", "mapped", 4).grown == ("mapped",)
        assert p.memo_stats.drops == 45
        asked.clear()
        for run in runs:
            grown = 3 if run == "r007" else 0
            assert [p.upstream_counts("d", run, names).count() for names in sets] == [3 + grown] * 45 + [1] * 5
        assert len(asked) == 1
        assert p.expand("d", "r007", "mapped", 4).grown == (), "nothing grew, so nothing is dropped"
        assert p.memo_stats.drops == 45
    with SchedulerPass(engine) as other:
        assert other.memo_stats.misses == 0
        other.upstream_counts("d", "r007", ["mapped"])
        assert other.memo_stats.misses == 1, "nothing outlives a pass"


def test_setups_are_apart_and_sensors_share(engine: sa.Engine) -> None:
    selectq.define(engine, Dag("d", [Task("s", is_setup=True), Task("t"), Task("u", upstream=["s", "t"])]))
    put(engine, {("r", "s", -1): "success", ("r", "t", -1): "failed", ("r", "u", -1): "up_for_reschedule"})
    with questions(engine) as asked, SchedulerPass(engine) as p:
        for _ in range(3):
            counts = p.upstream_counts("d", "r", {"s", "t"})
        assert (counts.count(), counts.count(setups=True), counts.count("failed", setups=True)) == (2, 1, 0)
    assert len(asked) == 1


def test_a_chain_of_skips_is_settled_in_one_pass(engine: sa.Engine) -> None:
    chain = [Task("t0"), *(Task(f"t{number}", upstream=[f"t{number - 1}"]) for number in range(1, 6))]
    always = Task("always", upstream=["t5"], trigger_rule="all_done")
    selectq.define(engine, Dag("d", [*chain, always]))
    put(engine, {("r", task.task_id, -1): None for task in (*chain, always)}, try_number=0)
    with engine.begin() as connection:
        connection.execute(sa.update(INSTANCE).where(INSTANCE.c.task_id == "t0").values(state="skipped"))
    with SchedulerPass(engine) as p:
        first = p.apply([("d", "r")], most_rounds=2)
        assert (first.is_complete, first.rounds, len(first.keys("skipped"))) == (False, 2, 2)
        settled = p.apply([("d", "r")])
    assert settled.is_complete
    assert [key[2] for key in settled.keys("skipped")] == ["t3", "t4", "t5"]
    assert settled.keys("scheduled") == [("d", "r", "always", -1)]
    assert rows_of(engine) == {**{(f"t{n}", -1): "skipped" for n in range(6)}, ("always", -1): "scheduled"}
    with engine.connect() as connection:
        tries = dict(connection.execute(sa.select(INSTANCE.c.task_id, INSTANCE.c.try_number)).all())
    assert tries == {**{f"t{number}": 0 for number in range(6)}, "always": 1}


def test_only_what_is_still_undecided_is_changed(engine: sa.Engine) -> None:
    names = ["fresh", "retry", "sensor", "early", "taken", "stopped"]
    selectq.define(engine, Dag("d", [Task(name) for name in names]), Dag("e", [Task("stopped")]))
    before = {"fresh": None, "retry": "up_for_retry", "sensor": "up_for_reschedule", "early": "up_for_retry"}
    put(engine, {("r", name, -1): state for name, state in {**before, "taken": None}.items()}, try_number=1)
    put(engine, {("r", "stopped", -1): None}, dag_id="e")
    far = datetime(2999, 1, 1, tzinfo=UTC)
    with engine.begin() as connection:
        connection.execute(sa.update(INSTANCE).where(INSTANCE.c.task_id == "early").values(not_before=far))
        connection.execute(sa.update(INSTANCE).where(INSTANCE.c.task_id == "retry").values(not_before=JANUARY))
        connection.execute(sa.text("UPDATE dag_run SET state = 'failed' WHERE dag_id = 'e'"))
    runs = [("d", "r"), ("e", "r")]
    with SchedulerPass(engine) as p:
        decisions = p.decide(runs)
        assert {row.task_id: row.decision for row in decisions} == {
            **dict.fromkeys(("fresh", "retry", "sensor", "taken", "stopped"), "run"),
            "early": "wait",
        }
        assert [row.reason for row in decisions if row.task_id == "early"] == ["delay"]
        with engine.begin() as connection:
            connection.execute(sa.update(INSTANCE).where(INSTANCE.c.task_id == "taken").values(state="running"))
        changed = p._apply(decisions)
    assert sorted((row.task_id, row.state) for row in changed) == [
        (name, "scheduled") for name in ("fresh", "retry", "sensor")
    ]
    with engine.connect() as connection:
        found = connection.execute(sa.select(INSTANCE.c.task_id, INSTANCE.c.state, INSTANCE.c.try_number)).all()
    assert {name: (state, tries) for name, state, tries in found} == {
        "fresh": ("scheduled", 2),
        "retry": ("scheduled", 2),
        "sensor": ("scheduled", 1),
        "early": ("up_for_retry", 1),
        "taken": ("running", 1),
        "stopped": (None, 0),
    }


def test_expand_inserts_removes_restores_and_repeats(engine: sa.Engine) -> None:
    selectq.define(engine, Dag("d", [Task("m", is_mapped=True, pool="p", pool_slots=2, priority_weight=7)]))
    put(engine, {("r", "m", -1): None})
    with SchedulerPass(engine) as p:
        assert p.apply([("d", "r")]).to_expand == (("d", "r", "m", -1),)
        assert rows_of(engine) == {("m", -1): None}, "a placeholder never starts"
        assert p.expand("d", "r", "m", 3).inserted == 3
        assert rows_of(engine) == {("m", index): None for index in range(3)}
        with engine.begin() as connection:
            connection.execute(sa.update(INSTANCE).where(INSTANCE.c.map_index == 2).values(state="running"))
        done = p.expand("d", "r", "m", 1)
        assert (done.inserted, done.removed, done.grown) == (0, 1, ())
        assert rows_of(engine) == {("m", 0): None, ("m", 1): "removed", ("m", 2): "running"}
        done = p.expand("d", "r", "m", 5)
        assert (done.inserted, done.restored, done.grown) == (2, 1, ("m",))
        assert p.expand("d", "r", "m", 5) == p.expand("d", "r", "m", 5)
    with engine.connect() as connection:
        query = sa.select(INSTANCE.c.pool, INSTANCE.c.pool_slots, INSTANCE.c.priority_weight, INSTANCE.c.logical_date)
        made = connection.execute(query.where(INSTANCE.c.map_index == 4)).one()
    assert tuple(made[:3]) == ("p", 2, 7)
    assert made[3].replace(tzinfo=UTC) == JANUARY


def test_expanding_over_nothing_leaves_one_skipped_placeholder(engine: sa.Engine) -> None:
    selectq.define(engine, Dag("d", [Task("m", is_mapped=True), Task("n", is_mapped=True)]))
    put(engine, {("r", "m", -1): None, ("r", "n", 0): "success"})
    with SchedulerPass(engine) as p:
        p.expand("d", "r", "m", 0)
        p.expand("d", "r", "n", 0)
        assert rows_of(engine) == {("m", -1): "skipped", ("n", -1): "skipped", ("n", 0): "removed"}
        p.expand("d", "r", "m", 2)
        p.expand("d", "r", "n", 1)
    assert rows_of(engine) == {("m", 0): None, ("m", 1): None, ("n", 0): None}


def test_a_failed_placeholder_stays(engine: sa.Engine) -> None:
    selectq.define(engine, Dag("d", [Task("m", is_mapped=True)]))
    put(engine, {("r", "m", -1): "upstream_failed"})
    with SchedulerPass(engine) as p:
        assert p.expand("d", "r", "m", 2).inserted == 0
    assert rows_of(engine) == {("m", -1): "upstream_failed"}


def test_lengths_multiply_inside_groups(engine: sa.Engine) -> None:
    groups = [Group("g", is_mapped=True), Group("g.plain", parent="g"), Group("h", parent="g.plain", is_mapped=True)]
    tasks = [Task("a", group="g"), Task("b", group="g.plain"), Task("c", group="h")]
    tasks.append(Task("m", group="g", is_mapped=True))
    selectq.define(engine, Dag("d", tasks, groups))
    put(engine, {("r", task.task_id, -1): None for task in tasks})
    with SchedulerPass(engine) as p:
        with pytest.raises(InvalidParameterError, match="task_id: 'm' is in 'g'; expand that first"):
            p.expand("d", "r", "m", 3)
        assert p.expand("d", "r", "g", 2).grown == ("a", "b")
        assert p.expand("d", "r", "m", 3).inserted == 6
        assert p.expand("d", "r", "h", 2).inserted == 4
        assert p.expand("d", "r", "g", 1).removed == 1 + 1 + 3 + 2
        with pytest.raises(InvalidParameterError, match="'b' is not mapped in dag 'd'; it is expanded with the group "):
            p.expand("d", "r", "b", 2)
        with pytest.raises(InvalidParameterError, match="'x' is not mapped in dag 'd'; set is_mapped where "):
            p.expand("d", "r", "x", 2)
        with pytest.raises(InvalidParameterError, match="run_id: there is no run 'x' of dag 'd'"):
            p.expand("d", "x", "m", 2)
        with pytest.raises(InvalidParameterError, match="length: must be a whole number from 0"):
            p.expand("d", "r", "m", -1)


def test_two_schedulers_that_expand_and_apply_at_once(engine: sa.Engine) -> None:
    selectq.define(engine, Dag("d", [Task("m", is_mapped=True), Task("after", upstream=["m"])]))
    put(engine, {("r", "m", -1): None, ("r", "after", -1): None})

    def work(number: int) -> tuple[int, int]:
        with SchedulerPass(engine, attempts=10) as p:
            inserted = p.expand("d", "r", "m", 40).inserted
            return inserted, len(p.apply([("d", "r")]).keys("scheduled"))

    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(work, range(4)))
    assert sum(inserted for inserted, _ in done) == 40
    assert sum(scheduled for _, scheduled in done) == 40
    assert rows_of(engine) == {**{("m", index): "scheduled" for index in range(40)}, ("after", -1): None}
    with engine.connect() as connection:
        assert connection.scalar(sa.select(sa.func.max(INSTANCE.c.try_number))) == 1


def test_an_upstream_that_has_no_row_is_still_to_come(engine: sa.Engine) -> None:
    selectq.define(engine, Dag("d", [Task("a"), Task("b"), Task("c", ["a", "b"], "all_done")]))
    put(engine, {("r", "a", -1): "success", ("r", "c", -1): None})
    with SchedulerPass(engine) as p:
        [decision] = p.decide([("d", "r")])
    assert (decision.decision, decision.expected, decision.success) == ("wait", 2, 1)
