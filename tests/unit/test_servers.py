"""What a run does about its servers: no server is a failure that says what to do, and a run can be narrowed to some."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.servers.names import SERVERS, WHOLE_SUITE

ROOT = Path(__file__).parents[2]
NEEDS_SERVERS = "tests/integration/test_isolation.py"


def run_pytest(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "SELECTQ_TEST_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", NEEDS_SERVERS, *arguments],
        cwd=ROOT,
        env={**mine, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("workers", ["0", "1"])
def test_without_an_engine_the_run_fails_and_says_what_to_do(workers: str) -> None:
    done = run_pytest("-n", workers, DOCKER_HOST="tcp://127.0.0.1:1")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "No container engine answers" in done.stderr
    assert "make servers" in done.stderr
    assert all(SERVERS[name].variable in done.stderr for name in WHOLE_SUITE)


def test_a_named_server_that_does_not_answer_fails_the_run() -> None:
    done = run_pytest("--engine", "mysql", SELECTQ_TEST_MYSQL_URL="mysql://root@127.0.0.1:1/mysql")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "SELECTQ_TEST_MYSQL_URL: no connection to the server" in done.stderr


def test_a_run_can_be_narrowed_to_some_servers() -> None:
    done = run_pytest("--collect-only", "--engine", "mysql", "--engine", "postgresql15")
    names = [line.rpartition("[")[2].rstrip("]").partition("-")[0] for line in done.stdout.splitlines() if "::" in line]
    found = Counter(names)
    assert set(found) == {"mysql", "postgresql15"}
    assert found["mysql"] == found["postgresql15"]


def test_a_server_of_a_part_of_the_suite_is_asked_for_by_its_tests_only() -> None:
    files = ["tests/integration/test_cases.py", "tests/plans/test_baselines.py"]
    done = run_pytest(*files, "--collect-only", "--engine", "postgresql16")
    tests = [line for line in done.stdout.splitlines() if "::" in line]
    assert {test.partition("::")[0] for test in tests} == set(files)
    assert all("[postgresql16" in test for test in tests)
