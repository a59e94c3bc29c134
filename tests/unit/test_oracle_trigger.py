"""The oracle of trigger rules against every public case and every recorded decision, without a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.case_worlds import load_case
from tests.oracle_trigger import decide_all
from tests.trigger_worlds import expected_of, trigger_cases, world_of


@pytest.mark.parametrize("path", trigger_cases(), ids=lambda path: path.stem)
def test_public_cases(path: Path) -> None:
    case = load_case(path)
    expected = expected_of(case)
    decided = decide_all(world_of(case))
    assert {key: decided[key] for key in expected} == expected


def test_all_that_was_recorded_is_here() -> None:
    recorded = [path for path in trigger_cases() if path.parent.name == "recorded"]
    assert sum(len(expected_of(load_case(path))) for path in recorded) == 1047
