"""Every public case of the kinds that are supported, replayed on every engine."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from selectq.scenario.format import read_scenario_file
from selectq.scenario.replay import replay
from tests.case_worlds import select_cases
from tests.servers.names import EVERY_SERVER
from tests.trigger_worlds import trigger_cases
from tests.world_tables import states


@pytest.mark.parametrize("path", [*select_cases(), *trigger_cases()], ids=lambda path: path.stem)
@pytest.mark.parametrize("engine_name", EVERY_SERVER)
def test_cases(engine: sa.Engine, path: Path) -> None:
    result = replay(engine, read_scenario_file(path))
    assert result.differences == ()
    assert result.engine == engine.dialect.name
    with engine.connect() as connection:
        assert states(connection) == {}, "nothing is left in the tables"
