"""Eight schedulers, four workers, changing limits: at no commit is a limit passed, nothing is lost or given twice."""

from __future__ import annotations

import os

import pytest

from tests.concurrency import faults
from tests.concurrency.stress import SCHEDULERS, Stress

CLAIMS = 5000
CLAIMS_WITH_FAULTS = 1500
SEED = int(os.environ.get("SELECTQ_TEST_SEED", "1"))


@pytest.mark.parametrize("engine_name", ["postgresql", "mysql"])
def test_no_limit_is_passed_and_nothing_lost(engine_url: str) -> None:
    outcome = Stress(engine_url, CLAIMS, SEED).run()
    assert outcome.wrong == []
    assert outcome.claims >= CLAIMS
    assert len(outcome.shares) == SCHEDULERS


@pytest.mark.parametrize("engine_name", ["postgresql", "mysql"])
def test_faults_cost_time_and_nothing_else(engine_url: str) -> None:
    """Schedulers die between statements, statements are cancelled, connections cut, deadlocks made."""
    outcome = Stress(engine_url, CLAIMS_WITH_FAULTS, SEED, kill=0.02, faults=faults.ALL).run()
    assert outcome.wrong == []
    assert outcome.claims >= CLAIMS_WITH_FAULTS
    assert outcome.killed > 0
    assert outcome.trouble.total() > 0
