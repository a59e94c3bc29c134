"""Scenario files of kind ``filequeue``: which fields there are, and how a file becomes a ``QueueScenario``.

What is left out of ``config`` has the queue's own default, but for ``callback_share``: there it is a half, since the
cases expect that callbacks leave room.
"""

from __future__ import annotations

from typing import Any

from selectq.parsing.settings import LONGEST, Settings
from selectq.scenario import fields as f
from selectq.scenario.fields import Field, Place
from selectq.scenario.filequeue_model import Event, QueueConfig, QueueExpectation, QueueFile, QueueScenario, Window
from selectq.schema_parsing import PATH_LENGTH

KIND = "filequeue"
MOST_TICKS = 10_000
MOST_SLOTS = 1_000
MOST_TIMES = 1_000
NEED_TICKS = ("parsed_within", "reparsed_after_edit_within", "callbacks_run_within")
DEFAULT = Settings()


def make_scenario(id: str, title: str, **parts: Any) -> QueueScenario:
    for_people = ("kind", "why", "source", "also", "question")
    return QueueScenario(id, title, **{name: part for name, part in parts.items() if name not in for_people})


def read_event(place: Place, value: object) -> Event:
    raw = read_event_fields(place, value)
    if raw["every_tick"] == (raw["tick"] is not None):
        raise place.wrong("one of every_tick: true and tick: n", "both" if raw["every_tick"] else "none of them")
    return Event(raw["path"], raw["tick"], raw["times"])


def read(place: Place, value: object) -> QueueScenario:
    """Read and check a scenario.

    Raises:
        ScenarioError: anything is wrong with it.
    """
    scenario: QueueScenario = read_fields(place, value)
    check_paths(place, scenario)
    check_ticks(place, scenario)
    return scenario


def check_paths(place: Place, scenario: QueueScenario) -> None:
    """Every path is one of ``files``; an edit may also bring a new file."""
    known = {file.path for file in scenario.files} | {edit.path for edit in scenario.edits}
    edited = {edit.path for edit in scenario.edits}
    expect = place.field("expect")
    lists = [
        (place.field("callbacks"), [event.path for event in scenario.callbacks], known, "files or edits"),
        (expect.field("due"), scenario.expect.due or (), known, "files"),
        (expect.field("not_due"), scenario.expect.not_due or (), known, "files"),
        (expect.field("queued_after_scan"), scenario.expect.queued_after_scan, known, "files or edits"),
        (expect.field("parsed_within"), paths(scenario.expect.parsed_within), known, "files or edits"),
        (
            expect.field("reparsed_after_edit_within"),
            paths(scenario.expect.reparsed_after_edit_within),
            edited,
            "edits",
        ),
        (
            expect.field("callbacks_run_within"),
            paths(scenario.expect.callbacks_run_within),
            {event.path for event in scenario.callbacks},
            "callbacks",
        ),
    ]
    for where, listed, allowed, source in lists:
        for index, path in enumerate(listed):
            if path not in allowed:
                raise where.item(index).wrong(f"a path of {source}", f.describe(path) + f.closest(path, tuple(allowed)))


def paths(windows: tuple[Window, ...]) -> list[str]:
    return [window.path for window in windows]


def check_ticks(place: Place, scenario: QueueScenario) -> None:
    """Without ticks nothing happens, so nothing can be said of it; and nothing happens after the last one."""
    ticks = scenario.config.ticks
    where = place.field("config").field("ticks")
    if ticks is None:
        for name in ("callbacks", "edits"):
            if getattr(scenario, name):
                raise where.wrong(f"this field, for there are {name}", "that it is missing")
        for name in NEED_TICKS:
            if getattr(scenario.expect, name):
                raise where.wrong(f"this field, for expect.{name} needs it", "that it is missing")
        return
    for name in ("callbacks", "edits"):
        for index, event in enumerate(getattr(scenario, name)):
            if event.tick is not None and event.tick > ticks:
                place_of_tick = place.field(name).item(index).field("tick")
                raise place_of_tick.wrong(f"a tick from 1 to {ticks}", f.describe(event.tick))


seconds = f.number(-1e10, 1e10)
path = f.text(PATH_LENGTH)
read_event_fields = f.mapping(
    {
        "path": Field(path),
        "every_tick": Field(f.boolean, False),
        "tick": Field(f.integer(1, MOST_TICKS), None),
        "times": Field(f.integer(1, MOST_TIMES), 1),
    }
)
read_file = f.mapping(
    {
        "path": Field(path),
        "last_parsed": Field(f.nullable(seconds)),
        "mtime": Field(f.nullable(seconds), None),
        "last_callback": Field(f.nullable(seconds), None),
        "queued": Field(f.boolean, False),
    },
    QueueFile,
)
read_config = f.mapping(
    {
        "min_interval": Field(f.number(0, LONGEST), DEFAULT.min_file_process_interval),
        "max_interval": Field(f.number(0, LONGEST), DEFAULT.max_file_process_interval),
        "callback_share": Field(f.number(0, 1), 0.5),
        "slots": Field(f.integer(1, MOST_SLOTS), 1),
        "tick_seconds": Field(f.number(0.001, 1e6), 1.0),
        "ticks": Field(f.integer(1, MOST_TICKS), None),
    },
    QueueConfig,
)
TICKS = Field(f.integer(0, MOST_TICKS))
read_bounds = f.list_of(f.mapping({"path": Field(path), "ticks": TICKS}, Window))
read_windows = f.list_of(
    f.mapping({"path": Field(path), "ticks": TICKS, "from_tick": Field(f.integer(1, MOST_TICKS))}, Window)
)
read_expectation = f.mapping(
    {
        "due": Field(f.distinct(path), None),
        "not_due": Field(f.distinct(path), None),
        "queued_after_scan": Field(f.distinct(path), ()),
        "parsed_within": Field(read_bounds, ()),
        "reparsed_after_edit_within": Field(read_bounds, ()),
        "callbacks_run_within": Field(read_windows, ()),
    },
    QueueExpectation,
)
read_fields = f.mapping(
    {
        "id": Field(f.text(250)),
        "kind": Field(f.one_of(KIND)),
        "title": Field(f.text(), ""),
        "why": Field(f.text(), ""),
        "source": Field(f.text(), ""),
        "also": Field(f.list_of(f.text()), ()),
        "question": Field(f.text(), None),
        "config": Field(read_config, QueueConfig(30, 120, 0.5, 1, 1.0, None)),
        "files": Field(f.distinct(read_file, lambda file: file.path)),
        "callbacks": Field(f.list_of(read_event), ()),
        "edits": Field(f.list_of(read_event), ()),
        "expect": Field(read_expectation),
    },
    make_scenario,
)
