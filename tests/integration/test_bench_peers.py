"""The backlogs that peers are compared on, and what is said of their passes; no peer is installed here."""

from __future__ import annotations

from collections import Counter

import pytest
import sqlalchemy as sa

from benchmarks import check
from benchmarks.measure import WrongResultError
from benchmarks.peers import parts
from benchmarks.peers.mixed import IDLE, Mixed
from benchmarks.peers.outcome import outcome
from benchmarks.peers.parts import PARTS
from selectq import selection
from selectq.rows import Key
from tests.world_tables import states

MAX_TIS = 512
ROWS = 10_000
on_both = pytest.mark.parametrize("engine_name", ["postgresql", "mysql"])


def claimed(connection: sa.Connection, max_tis: int = MAX_TIS) -> list[Key]:
    keys = [row.key for row in selection.claim(connection, max_tis)]
    connection.rollback()
    return keys


@on_both
def test_mixed_fills_a_batch_from_several_sources(engine: sa.Engine) -> None:
    Mixed(ROWS).load(engine)
    with engine.connect() as connection:
        found = Counter(states(connection).values())
        keys = check.expected(connection, MAX_TIS)
        assert claimed(connection) == keys
    assert found["scheduled"] == ROWS
    sources = Counter(key[0] if key[0] in ("idle", "flood") else "grid" for key in keys)
    assert len(keys) == MAX_TIS
    assert sources["flood"] == 5
    assert 0 < sources["idle"] < IDLE


@on_both
@pytest.mark.parametrize("part", PARTS)
def test_a_part_has_one_kind_of_limit(engine: sa.Engine, part: str) -> None:
    PARTS[part](ROWS).load(engine)
    with engine.connect() as connection:
        assert Counter(states(connection).values())["scheduled"] == ROWS
        keys = check.expected(connection, ROWS)
        limits = parts.limits(connection, part)
        if part == "pools":
            assert len(keys) == sum(limits.values()) - used_slots(connection) == MAX_TIS
        else:
            assert {*limits.values()} == {1}
            assert len(keys) == len(limits) - used_slots(connection) > MAX_TIS
        assert claimed(connection) == keys[:MAX_TIS]


def used_slots(connection: sa.Connection) -> int:
    """Of all pools: each active row takes one here."""
    query = "SELECT COUNT(*) FROM task_instance WHERE state IN ('queued', 'running', 'deferred')"
    return int(connection.execute(sa.text(query)).scalar_one())


@on_both
def test_what_a_pass_is_worth(engine: sa.Engine) -> None:
    PARTS["pools"](ROWS).load(engine)
    with engine.connect() as connection:
        before = states(connection)
        waiting = sorted(key for key, state in before.items() if state == "scheduled")
        keys = check.expected(connection, MAX_TIS)

        all_of_it = outcome(connection, keys, MAX_TIS)
        assert (all_of_it.started, all_of_it.missed, all_of_it.over) == (MAX_TIS, (), ())

        some = outcome(connection, keys[:500], MAX_TIS)
        assert (some.started, some.missed, some.over) == (500, tuple(keys[500:]), ())

        nothing = outcome(connection, [], 3)
        assert nothing.missed == tuple(keys[:3])

        one_more = next(key for key in waiting if key not in keys)
        too_much = outcome(connection, [*keys, one_more], MAX_TIS + 1)
        assert [kind for kind, *_ in too_much.over] == ["pool"]

        with pytest.raises(WrongResultError, match="2 keys, but 1 rows"):
            outcome(connection, [keys[0], ("no", "such", "row", -1)], MAX_TIS)
        assert states(connection) == before


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_every_kind_of_holder_can_be_beyond_its_limit(engine: sa.Engine) -> None:
    Mixed(ROWS).load(engine)
    with engine.connect() as connection:
        flood = [key for key in states(connection) if key[0] == "flood"][:17]
        assert outcome(connection, flood[:5], 5).over == ()
        assert outcome(connection, flood[:6], 6).over == (("task in run", "flood", "run_00000", "mapped"),)
        assert ("run", "flood", "run_00000") in outcome(connection, flood, 17).over
        connection.execute(sa.text("UPDATE task SET max_active_tis_per_dag = 3 WHERE dag_id = 'flood'"))
        connection.commit()
        assert ("task", "flood", "mapped") in outcome(connection, flood[:4], 4).over
