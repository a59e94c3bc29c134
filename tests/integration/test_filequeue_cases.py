"""Every public case of kind ``filequeue``, replayed on every engine; and expectations that must not be met."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml
from click.testing import CliRunner

from selectq.cli import main
from selectq.scenario.format import parse_scenario, read_scenario_file
from selectq.scenario.replay import ReplayResult, replay
from selectq.schema import metadata
from tests.case_worlds import CASES, cases_of

STORM = "callback-storm-cannot-starve-files"
EDITS = "edits-are-seen-under-callbacks"


@pytest.mark.parametrize("path", cases_of("filequeue"), ids=lambda path: path.stem)
def test_cases(engine: sa.Engine, path: Path) -> None:
    result = replay(engine, read_scenario_file(path))
    assert result.differences == ()
    assert result.engine == engine.dialect.name
    with engine.connect() as connection:
        for name in ("dag_file", "parse_request", "parse_payload", "parse_state"):
            assert connection.scalar(sa.select(sa.func.count()).select_from(metadata.tables[name])) == 0


def changed(engine: sa.Engine, case: str, **changes: Any) -> ReplayResult:
    """The case with other values for what stands at ``expect__due`` and the like."""
    value = yaml.safe_load((CASES / f"{case}.yaml").read_text())
    for place, new in changes.items():
        holder = value
        *above, last = place.split("__")
        for part in above:
            holder = holder[part]
        holder[last] = new
    return replay(engine, parse_scenario(yaml.safe_dump(value), "changed.yaml"))


@pytest.mark.parametrize("engine_name", ["postgresql", "mysql"])
@pytest.mark.parametrize(
    ("case", "changes", "difference"),
    [
        (
            "changed-file-beats-the-interval",
            {"expect__due": ["edited.py", "old.py"]},
            "fresh.py is due, but should not be",
        ),
        (
            "changed-file-beats-the-interval",
            {"expect__not_due": ["same.py", "old.py"]},
            "old.py should be not due, but is not",
        ),
        (
            "changed-file-beats-the-interval",
            {"expect__queued_after_scan": ["same.py"]},
            "same.py should be queued after the first scan, but is not",
        ),
        (STORM, {"config__callback_share": 1}, "f.py should be parsed by tick 6, but never did"),
        (
            STORM,
            {"config__callback_share": 0, "config__slots": 1},
            "a.py should have its callbacks run by tick 4, but did in tick 5",
        ),
        (STORM, {"expect__parsed_within": [{"path": "f.py", "ticks": 3}]}, "by tick 3, but did in tick 4"),
        (
            EDITS,
            {"expect__reparsed_after_edit_within": [{"path": "c.py", "ticks": 0}], "config__callback_share": 1},
            "c.py should be parsed after the edit in tick 15 by tick 15",
        ),
    ],
)
def test_what_is_not_met_is_told(
    engine: sa.Engine, case: str, changes: dict[str, Any], difference: str
) -> None:
    result = changed(engine, case, **changes)
    assert not result.ok
    assert any(difference in sentence for sentence in result.differences), result.differences


def test_json_has_a_step_per_tick(engine: sa.Engine, engine_url: str) -> None:
    path = CASES / f"{STORM}.yaml"
    done = CliRunner().invoke(main, ["replay", str(path), "--json", "--db", engine_url])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert (result["case"], result["engine"], result["ok"]) == (STORM, engine.dialect.name, True)
    assert [step["tick"] for step in result["steps"]] == list(range(1, 13))
    first = result["steps"][0]
    assert first["due"] == ["a.py", "b.py", "c.py", "d.py", "e.py", "f.py"]
    assert first["queued"][:2] == ["a.py", "b.py"]
    assert first["read"] == [
        {"path": "a.py", "lane": "priority", "parse": True, "callbacks": 2},
        {"path": "c.py", "lane": "standard", "parse": True, "callbacks": 0},
    ]


def test_one_line_for_people(engine: sa.Engine, engine_url: str) -> None:
    cases = [str(CASES / f"{case}.yaml") for case in (STORM, "changed-file-beats-the-interval")]
    done = CliRunner().invoke(main, ["replay", *cases, "--db", engine_url])
    assert done.stdout == (
        f"ok      {STORM} (12 steps)\n"
        "ok      changed-file-beats-the-interval\n"
        f"2 of 2 as expected on {engine.dialect.name}\n"
    )
