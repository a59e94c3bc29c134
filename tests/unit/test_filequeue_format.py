"""Scenario files of kind ``filequeue``: what is read from a right one, and the message for every way of being wrong."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from selectq.errors import ScenarioError
from selectq.scenario.filequeue_model import Event, QueueConfig, QueueFile, QueueScenario, Window
from selectq.scenario.format import parse_scenario

SMALL: dict[str, Any] = {
    "id": "small",
    "kind": "filequeue",
    "config": {"slots": 2, "tick_seconds": 5, "min_interval": 60, "ticks": 9, "callback_share": 0.25},
    "files": [
        {"path": "a.py", "last_parsed": -5, "mtime": -100, "last_callback": -2, "queued": True},
        {"path": "b.py", "last_parsed": None},
    ],
    "callbacks": [{"every_tick": True, "path": "a.py", "times": 3}, {"tick": 2, "path": "b.py"}],
    "edits": [{"tick": 9, "path": "new.py"}],
    "expect": {
        "due": ["b.py"],
        "not_due": ["a.py"],
        "queued_after_scan": ["b.py"],
        "parsed_within": [{"path": "b.py", "ticks": 1}],
        "reparsed_after_edit_within": [{"path": "new.py", "ticks": 2}],
        "callbacks_run_within": [{"path": "b.py", "from_tick": 2, "ticks": 4}],
    },
}


def parsed(value: dict[str, Any]) -> QueueScenario:
    scenario = parse_scenario(yaml.safe_dump(value), "small.yaml")
    assert isinstance(scenario, QueueScenario)
    return scenario


def test_a_right_file_becomes_records() -> None:
    scenario = parsed(SMALL)
    assert scenario.config == QueueConfig(60, 120, 0.25, 2, 5, 9)
    assert scenario.files == (QueueFile("a.py", -5, -100, -2, True), QueueFile("b.py", None, None, None, False))
    assert scenario.callbacks == (Event("a.py", None, 3), Event("b.py", 2, 1))
    assert [scenario.callbacks[1].happens(tick) for tick in (1, 2, 3)] == [False, True, False]
    assert scenario.edits == (Event("new.py", 9, 1),)
    assert (scenario.expect.due, scenario.expect.not_due) == (("b.py",), ("a.py",))
    assert scenario.expect.callbacks_run_within == (Window("b.py", 4, 2),)


def test_what_may_be_left_out() -> None:
    scenario = parsed({"id": "x", "kind": "filequeue", "files": [], "expect": {}})
    assert scenario.config == QueueConfig(30, 120, 0.5, 1, 1, None)
    assert (scenario.expect.due, scenario.callbacks, scenario.edits) == (None, (), ())


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("files.0.last_parsed", "never", "files[0].last_parsed: expected a number from"),
        ("files.0.mtime", True, "files[0].mtime: expected a number from"),
        ("files.0.last_parsed", float("nan"), "files[0].last_parsed: expected a number from"),
        ("files.1.path", "a.py", "files[1]: expected an entry unlike those before it, found files[0] again"),
        ("files.1.path", "x" * 2001, "files[1].path: expected text of 1 to 2000 characters, found 2001 characters"),
        ("config.callback_share", 1.5, "config.callback_share: expected a number from 0 to 1, found the number 1.5"),
        ("config.slots", 0, "config.slots: expected a whole number from 1 to"),
        ("config.tick", 3, "(did you mean ticks?)"),
        ("config.ticks", None, "config.ticks: expected a whole number from 1 to"),
        ("callbacks.1.every_tick", True, "callbacks[1]: expected one of every_tick: true and tick: n, found both"),
        ("callbacks.1.path", "c.py", "callbacks[1]: expected a path of files or edits, found the text 'c.py'"),
        ("edits.0.tick", 10, "edits[0].tick: expected a tick from 1 to 9, found the number 10"),
        ("expect.due.0", "c.py", "expect.due[0]: expected a path of files, found the text 'c.py'"),
        ("expect.parsed_within.0.path", "d.py", "expect.parsed_within[0]: expected a path of files or edits"),
        ("expect.reparsed_after_edit_within.0.path", "a.py", "expected a path of edits, found the text 'a.py'"),
        ("expect.callbacks_run_within.0.path", "new.py", "expected a path of callbacks, found the text 'new.py'"),
    ],
)
def test_what_is_wrong_is_named(path: str, value: Any, problem: str) -> None:
    wrong = copy.deepcopy(SMALL)
    *above, last = path.split(".")
    holder: Any = wrong
    for part in above:
        holder = holder[int(part) if part.isdigit() else part]
    holder[int(last) if last.isdigit() else last] = value
    with pytest.raises(ScenarioError) as caught:
        parsed(wrong)
    assert problem in str(caught.value)
    assert str(caught.value).startswith("small.yaml: ")


@pytest.mark.parametrize(
    ("left", "problem"),
    [
        (("callbacks", "edits", "expect"), "config.ticks: expected this field, for there are callbacks"),
        (("edits", "expect"), "config.ticks: expected this field, for there are edits"),
        (("expect",), "config.ticks: expected this field, for expect.parsed_within needs it"),
    ],
)
def test_nothing_happens_without_ticks(left: tuple[str, ...], problem: str) -> None:
    wrong = copy.deepcopy(SMALL)
    del wrong["config"]["ticks"]
    del wrong["expect"]["reparsed_after_edit_within"], wrong["expect"]["callbacks_run_within"]
    for name in {"callbacks", "edits"} - set(left):
        del wrong[name]
    with pytest.raises(ScenarioError) as caught:
        parsed(wrong)
    assert problem in str(caught.value)


def test_a_folder_without_ticks_is_scanned_once() -> None:
    scenario = parsed(
        {"id": "x", "kind": "filequeue", "files": SMALL["files"], "expect": {"queued_after_scan": ["b.py"]}}
    )
    assert scenario.expect.queued_after_scan == ("b.py",)
