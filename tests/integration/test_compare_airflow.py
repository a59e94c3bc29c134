"""A small part of what ``make compare-airflow`` compares: what Airflow 3.3.2 decided, recorded."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import sqlalchemy as sa

from tests.compare_airflow.compare import differences

RECORDED = Path(__file__).parents[1] / "compare_airflow" / "recorded.jsonl"


def test_recorded_decisions(engine: sa.Engine) -> None:
    worlds = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    assert sum(len(world["decisions"]) for world in worlds) > 200
    found = list(differences(engine, worlds))
    assert [row for row in found if row[3] is None] == []
    assert Counter(row[3] for row in found) == {"a placeholder of known length waits to be expanded": len(found)}
    assert found, "the difference that is meant is in the record"
