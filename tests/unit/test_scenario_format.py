"""Scenario files: what is read from a right one, and the message for every way of being wrong."""

from __future__ import annotations

import copy
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from selectq.errors import ScenarioError
from selectq.scenario.format import parse_scenario, read_scenario_file
from selectq.scenario.model import Group, Instances

CASES = Path(__file__).parents[1] / "cases"
MISSING = object()
MOST = 2**31 - 1

SMALL: dict[str, Any] = {
    "id": "small",
    "kind": "select",
    "max_tis": 2,
    "pools": [{"pool": "default_pool", "slots": 1}, {"pool": "other", "slots": -1, "include_deferred": True}],
    "dags": [{"dag_id": "a", "max_active_tasks": 16}, {"dag_id": "b", "max_active_tasks": 0, "is_paused": True}],
    "tasks": [
        {"dag_id": "a", "task_id": "t", "max_active_tis_per_dag": None, "max_active_tis_per_dagrun": 3},
        {"dag_id": "a", "task_id": "u", "upstream": ["t"], "trigger_rule": "all_done", "retries": 2},
    ],
    "dag_runs": [{"dag_id": "a", "run_id": "r", "state": "running", "logical_date": "2026-01-01T00:00:00Z"}],
    "task_instances": [
        {"dag_id": "a", "run_id": "r", "task_id": "t", "count": 3, "state": "scheduled"},
        {"dag_id": "a", "run_id": "r", "task_id": "u", "state": None, "pool_slots": 2, "priority_weight": -5},
    ],
    "expect": {
        "selected": [{"dag_id": "a", "run_id": "r", "task_id": "t", "map_index": 0}],
        "blocked": [{"dag_id": "a", "run_id": "r", "task_id": "t", "map_index": 1, "by": "pool"}],
        "blocked_counts": [{"dag_id": "a", "run_id": "r", "count": 1, "by": "pool"}],
    },
    "then": [
        {
            "note": "one is done",
            "finish": [{"dag_id": "a", "run_id": "r", "task_id": "t", "map_index": 0}],
            "set": [{"dag_id": "a", "run_id": "r", "task_id": "u", "state": "scheduled"}],
            "max_tis": 7,
            "expect": {"selected_counts": [{"dag_id": "a", "task_id": "t", "count": 1}]},
        },
        {"expect": {"selected": []}},
    ],
}


def changed(path: str, to: Any) -> str:
    """The small scenario as YAML, with the value at ``path`` replaced, added or (MISSING) taken out."""
    scenario = copy.deepcopy(SMALL)
    *above, last = [int(part) if part.isdigit() else part for part in re.findall(r"\w+", path)]
    holder: Any = scenario
    for part in above:
        holder = holder[part]
    if to is MISSING:
        del holder[last]
    elif isinstance(holder, list) and last == len(holder):
        holder.append(to)
    else:
        holder[last] = to
    return yaml.safe_dump(scenario, sort_keys=False, allow_unicode=True)


def problem(content: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(content, "small.yaml")
    return str(caught.value)


def test_a_right_file_becomes_records() -> None:
    scenario = parse_scenario(yaml.safe_dump(SMALL), "small.yaml")
    first, second = scenario.task_instances
    assert first == Instances("a", "r", "t", 0, 3, "scheduled", "default_pool", 1, 1, 1)
    assert (second.first, second.count, second.state, second.pool_slots, second.priority_weight) == (-1, 1, None, 2, -5)
    assert scenario.pools[1].include_deferred
    assert not scenario.pools[0].include_deferred
    assert scenario.tasks[1].upstream == ("t",)
    assert [step.max_tis for step in scenario.steps] == [2, 7, 7]
    assert scenario.steps[1].finish == (("a", "r", "t", 0),)
    assert scenario.steps[1].set_state == ((("a", "r", "u", -1), "scheduled"),)
    assert scenario.steps[1].expect.selected_counts == {Group("a", None, "t"): 1}
    assert scenario.steps[0].expect.blocked == {("a", "r", "t", 1): "pool"}
    assert scenario.steps[2].expect.selected == ()


@pytest.mark.parametrize("path", sorted(CASES.glob("**/*.yaml")), ids=lambda path: path.stem)
def test_cases_are_read_or_named_as_not_supported_yet(path: Path) -> None:
    kind = yaml.safe_load(path.read_text())["kind"]
    if kind in ("select", "filequeue"):
        assert read_scenario_file(path).id == path.stem
    else:
        message = f"kind: expected select or filequeue, found {kind}, which is not supported yet"
        with pytest.raises(ScenarioError, match=message):
            read_scenario_file(path)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2026-01-31T08:00:00Z", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ("2026-01-31 08:00:00", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ("2026-01-31T08:00:00.000001+02:00", datetime(2026, 1, 31, 6, 0, 0, 1, tzinfo=UTC)),
        ("'2026-01-31T08:00:00+02:00'", datetime(2026, 1, 31, 6, tzinfo=UTC)),
        ("'2026-01-31T08:00'", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("null", None),
    ],
)
def test_dates(written: str, expected: datetime | None) -> None:
    content = yaml.safe_dump(SMALL).replace("'2026-01-01T00:00:00Z'", written)
    assert parse_scenario(content, "small.yaml").dag_runs[0].logical_date == expected


def test_a_million_rows_are_one_record() -> None:
    (entry, _) = parse_scenario(changed("task_instances[0].count", to=1_000_000), "small.yaml").task_instances
    assert entry.count == 1_000_000


def test_anchors_aliases_and_merges_are_read() -> None:
    content = changed("why", to="*words") + "title: &words Same\n"
    content = content.replace("why: '*words'\n", "")
    assert parse_scenario(content + "why: *words\n", "small.yaml").title == "Same"


def test_bad_message_starts_with_the_file_it_came_from(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("kind: selekt\n")
    with pytest.raises(ScenarioError) as caught:
        read_scenario_file(path)
    assert str(caught.value) == (
        f"{path}: kind: expected one of select, trigger, state, filequeue, "
        "found the text 'selekt' (did you mean select?)"
    )


@pytest.mark.parametrize("name", ["absent.yaml", "folder"])
def test_files_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ScenarioError, match=f"{name}: expected a scenario file, found none to read: "):
        read_scenario_file(tmp_path / name)


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"id: caf\xe9\n")
    with pytest.raises(ScenarioError, match="expected UTF-8 text, found other bytes at offset 7"):
        read_scenario_file(path)


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "windows.yaml"
    path.write_text(yaml.safe_dump(SMALL), encoding="utf-8-sig")
    assert read_scenario_file(path).id == "small"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "small.yaml: expected a mapping with the fields id, kind, ..., found null"),
        ("- a\n- b\n", "small.yaml: expected a mapping with the fields id, kind, ..., found a list"),
        ("id: [unclosed\n", "small.yaml: line 2, column 1: expected valid YAML, found a mistake: "),
        ("id: a\n\tkind: b\n", "small.yaml: line 2, column 1: expected valid YAML"),
        ("id: a\n---\nid: b\n", "expected valid YAML, found a mistake: expected a single document"),
        ("id: a\nkind: select\nid: b\n", "small.yaml: line 3, column 1: expected valid YAML, found a mistake: "
         "the field 'id' stands twice in one mapping"),
        ("id: *nobody\n", "small.yaml: line 1, column 5: expected valid YAML, found a mistake: "),
        ("id: !!python/object/apply:os.getcwd []\n", "could not determine a constructor for the tag"),
        ("id: 2026-02-31\n", "small.yaml: expected valid YAML, found a mistake: day "),
        (f"id: {'9' * 5000}\n", "small.yaml: expected valid YAML, found a mistake: Exceeds the limit"),
        ("id: \x07\n", "small.yaml: expected valid YAML, found a mistake: "),
        ("? [a, b]\n: c\n", "small.yaml: line 1, column 3: expected valid YAML, found a mistake: "),
        ("id: " + "[" * 60 + "]" * 60, "found a mistake: values nested more than 50 deep"),
        ("id: " + "[" * 100_000, "expected valid YAML, found a mistake: "),
        ("- " * 900, "found a mistake: values nested more than 50 deep"),
        ("kind: select\nid: &x [*x]\n", "small.yaml: id: expected text of 1 to 250 characters, found a list"),
    ],
)  # fmt: skip
def test_what_is_no_scenario_at_all(content: str, message: str) -> None:
    assert message in problem(content)


ROW = {"dag_id": "a", "run_id": "r", "task_id": "t", "map_index": 2}
INTEGER = f"a whole number from {-(2**31)} to {MOST}"
ID = "text of 1 to 250 characters"
DATE = "a date and time between the years 1000 and 9999, such as 2026-01-31T08:00:00Z"

WRONG = [
    # Fields that are missing, unknown or of another type.
    ("kind", MISSING, "kind: expected one of select, trigger, state, filequeue, found that it is missing"),
    ("kind", None, "kind: expected one of select, trigger, state, filequeue, found null"),
    ("id", MISSING, "id: expected this field, found that it is missing"),
    ("id", "", f"id: expected {ID}, found 0 characters"),
    ("title", ["x"], "title: expected text, found a list"),
    ("also", "x", "also: expected a list, found the text 'x'"),
    ("max_tis", MISSING, "max_tis: expected this field, found that it is missing"),
    ("max_tis", 0, "max_tis: expected a whole number from 1 to 1000000, found the number 0"),
    ("max_tis", 2**31, f"max_tis: expected a whole number from 1 to 1000000, found the number {2**31}"),
    ("max_tis", True, "max_tis: expected a whole number from 1 to 1000000, found the truth value true"),
    ("max_tis", "32", "max_tis: expected a whole number from 1 to 1000000, found the text '32'"),
    ("max_tis", 1.0, "max_tis: expected a whole number from 1 to 1000000, found the number 1.0"),
    ("pools", MISSING, "pools: expected this field, found that it is missing"),
    ("pools", {"pool": "p"}, "pools: expected a list, found a mapping"),
    ("pools[0]", "p", "pools[0]: expected a mapping with the fields pool, slots, include_deferred, "
     "found the text 'p'"),
    ("pools[0].slots", MISSING, "pools[0].slots: expected this field, found that it is missing"),
    ("pools[0].slots", -2, f"pools[0].slots: expected a whole number from -1 to {MOST}, found the number -2"),
    ("pools[0].slots", 10**100, f"pools[0].slots: expected a whole number from -1 to {MOST}, "
     "found a number of very many digits"),
    ("pools[0].slotz", 1, "pools[0]: expected the fields pool, slots, include_deferred, "
     "found the unknown field the text 'slotz' (did you mean slots?)"),
    ("pools[1].include_deferred", "yes", "pools[1].include_deferred: expected true or false, found the text 'yes'"),
    ("pools[1].include_deferred", 1, "pools[1].include_deferred: expected true or false, found the number 1"),
    ("pools[0].pool", "p" * 257, "pools[0].pool: expected text of 1 to 256 characters, found 257 characters"),
    ("pools[0].pool", 12, "pools[0].pool: expected text of 1 to 256 characters, "
     "found the number 12 (put it in quotes)"),
    ("pools[0].pool", "a\0b", "pools[0].pool: expected text that can be stored as UTF-8, found the text 'a\\x00b'"),
    ("dags[0].dag_id", "é" * 251, f"dags[0].dag_id: expected {ID}, found 251 characters"),
    ("dags[0].dag_id", date(2026, 1, 1), f"dags[0].dag_id: expected {ID}, "
     "found the date 2026-01-01 (put it in quotes)"),
    ("dags[0].max_active_tasks", None, f"dags[0].max_active_tasks: expected {INTEGER}, found null"),
    ("dags[0].is_paused", None, "dags[0].is_paused: expected true or false, found null"),
    ("tasks[0].max_active_tis_per_dag", "none", f"tasks[0].max_active_tis_per_dag: expected {INTEGER}, "
     "found the text 'none'"),
    ("tasks[0].max_active_tis_per_dagrun", 2**31, f"tasks[0].max_active_tis_per_dagrun: expected {INTEGER}, "
     f"found the number {2**31}"),
    ("tasks[0].trigger_rule", "all_sucess", "(did you mean all_success?)"),
    ("tasks[0].retries", -1, f"tasks[0].retries: expected a whole number from 0 to {MOST}, found the number -1"),
    ("tasks[0].expand_length", 3, "found the unknown field the text 'expand_length'"),
    ("dag_runs[0].state", "runing", "dag_runs[0].state: expected one of queued, running, success, failed, "
     "found the text 'runing' (did you mean running?)"),
    ("dag_runs[0].run_type", "cron", "dag_runs[0].run_type: expected one of scheduled, manual, "),
    ("dag_runs[0].logical_date", MISSING, "dag_runs[0].logical_date: expected this field, "),
    ("dag_runs[0].logical_date", "yesterday", f"dag_runs[0].logical_date: expected {DATE}, "
     "found the text 'yesterday'"),
    ("dag_runs[0].logical_date", 20260101, f"dag_runs[0].logical_date: expected {DATE}, found the number 20260101"),
    ("dag_runs[0].logical_date", "0999-12-31", f"dag_runs[0].logical_date: expected {DATE}, "),
    ("dag_runs[0].logical_date", "0001-01-01T00:00:00+05:00", f"dag_runs[0].logical_date: expected {DATE}, "),
    ("task_instances[1].state", "done", "task_instances[1].state: expected one of scheduled, queued, running, "),
    ("task_instances[1].state", MISSING, "task_instances[1].state: expected this field, "),
    ("task_instances[1].pool_slots", 0, f"task_instances[1].pool_slots: expected a whole number from 1 to {MOST}, "
     "found the number 0"),
    ("task_instances[1].priority_weight", -(2**31) - 1, f"task_instances[1].priority_weight: expected {INTEGER}, "),
    ("task_instances[1].try_number", -1, "task_instances[1].try_number: expected a whole number from 0 to "),
    ("task_instances[1].map_index", -2, "task_instances[1].map_index: expected a whole number from -1 to "),
    ("task_instances[1].map_index", None, "task_instances[1].map_index: expected a whole number from -1 to "),
    ("task_instances[0].map_index", 0, "task_instances[0]: expected map_index or count, found both"),
    ("task_instances[0].count", 0, "task_instances[0].count: expected a whole number from 1 to 1000000, "),
    ("task_instances[0].count", 1_000_001, "task_instances[0].count: expected a whole number from 1 to 1000000, "),
    ("task_instances[0].claim", "c", "task_instances[0]: expected the fields dag_id, run_id, task_id, "),
    # Names that are not listed.
    ("tasks[0].dag_id", "A", "tasks[0].dag_id: expected a dag listed in dags, found 'A'"),
    ("tasks[1].upstream[0]", "x", "tasks[1].upstream[0]: expected a task of dag 'a' listed in tasks, found 'x'"),
    ("tasks[1].upstream[0]", "u", "tasks[1].upstream[0]: expected another task, found the task itself, 'u'"),
    ("dag_runs[0].dag_id", "a ", "dag_runs[0].dag_id: expected a dag listed in dags, found 'a '"),
    ("task_instances[1].dag_id", "x", "task_instances[1].run_id: expected a run of dag 'x' listed in dag_runs, "),
    ("task_instances[1].run_id", "R", "task_instances[1].run_id: expected a run of dag 'a' listed in dag_runs, "
     "found 'R'"),
    ("task_instances[1].task_id", "x", "task_instances[1].task_id: expected a task of dag 'a' listed in tasks, "),
    ("expect.selected[0].map_index", 3, "expect.selected[0]: expected a row listed in task_instances, "
     "found 'a', 'r', 't', map_index 3"),
    ("expect.selected[0].map_index", MISSING, "found 'a', 'r', 't', map_index -1"),
    ("expect.blocked[0].run_id", "x", "expect.blocked[0]: expected a row listed in task_instances, "),
    ("expect.blocked_counts[0].dag_id", "x", "expect.blocked_counts[0].dag_id: expected a dag listed in dags, "),
    ("expect.blocked_counts[0].run_id", "x", "expect.blocked_counts[0].run_id: expected a run of dag 'a' "),
    ("then[0].expect.selected_counts[0].task_id", "x",
     "then[0].expect.selected_counts[0].task_id: expected a task of dag 'a' listed in tasks, found 'x'"),
    ("then[0].finish[0].map_index", 3, "then[0].finish[0]: expected a row listed in task_instances, "),
    ("then[0].set[0].task_id", "x", "then[0].set[0]: expected a row listed in task_instances, "),
    # Twice the same.
    ("pools[1].pool", "default_pool", "pools[1]: expected an entry unlike those before it, found pools[0] again"),
    ("dags[1].dag_id", "a", "dags[1]: expected an entry unlike those before it, found dags[0] again"),
    ("tasks[1].task_id", "t", "tasks[1]: expected an entry unlike those before it, found tasks[0] again"),
    ("tasks[1].upstream", ["t", "t"], "tasks[1].upstream[1]: expected an entry unlike those before it, "
     "found tasks[1].upstream[0] again"),
    ("dag_runs[1]", SMALL["dag_runs"][0], "dag_runs[1]: expected an entry unlike those before it, "),
    ("task_instances[2]", SMALL["task_instances"][1], "task_instances[2]: expected new rows, "
     "found map_index -1 again, as in task_instances[1]"),
    ("task_instances[2]", {**ROW, "state": None}, "task_instances[2]: expected new rows, "
     "found map_index 2 again, as in task_instances[0]"),
    ("expect.selected[1]", SMALL["expect"]["selected"][0], "expect.selected[1]: expected an entry unlike those "),
    ("expect.blocked[1]", {**ROW, "map_index": 1, "by": "max_tis"}, "expect.blocked[1]: expected an entry unlike "),
    ("expect.blocked_counts[1]", {"dag_id": "a", "run_id": "r", "count": 2, "by": "pool"},
     "expect.blocked_counts[1]: expected an entry unlike those before it, found expect.blocked_counts[0] again"),
    ("then[0].set[1]", {**ROW, "task_id": "u", "map_index": -1, "state": None}, "then[0].set[1]: expected an entry "),
    # Expectations and steps.
    ("expect", MISSING, "expect: expected this field, found that it is missing"),
    ("expect.selected", MISSING, "expect: expected one of the fields selected, selected_counts, found none of them"),
    ("expect.selected_counts", [], "expect: expected one of the fields selected, selected_counts, found both"),
    ("expect.decisions", [], "expect: expected the fields selected, selected_counts, blocked, blocked_counts, "
     "found the unknown field the text 'decisions'"),
    ("expect.blocked[0].by", "executor", "expect.blocked[0].by: expected one of pool, no_pool, "),
    ("expect.blocked[0].map_index", 0, "expect.selected[0]: expected a row that is not blocked too, "
     "found it in expect.blocked"),
    ("expect.blocked_counts[0].count", -1, "expect.blocked_counts[0].count: expected a whole number from 0 to "),
    ("expect.blocked_counts[0].map_index", 1, "expect.blocked_counts[0]: expected the fields dag_id, run_id, "),
    ("then", {}, "then: expected a list, found an empty mapping"),
    ("then[0].expect", MISSING, "then[0].expect: expected this field, found that it is missing"),
    ("then[0].max_tis", 0, "then[0].max_tis: expected a whole number from 1 to "),
    ("then[0].finished", [], "(did you mean finish?)"),
    ("then[0].finish[0].state", "failed", "then[0].finish[0]: expected the fields dag_id, run_id, task_id, "),
    ("then[0].set[0].state", MISSING, "then[0].set[0].state: expected this field, found that it is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "to", "message"), WRONG, ids=[path for path, _, _ in WRONG])
def test_wrong_fields(path: str, to: Any, message: str) -> None:
    assert message in problem(changed(path, to))


def test_a_field_name_that_is_no_text() -> None:
    message = problem(changed("pools[0]", {"pool": "p", "slots": 1, 7: 8}))
    assert message.endswith("expected the fields pool, slots, include_deferred, found the unknown field the number 7")


def test_too_many_rows_in_all() -> None:
    entry = {"dag_id": "a", "run_id": "r", "task_id": "t", "count": 1_000_000, "state": None}
    message = problem(changed("task_instances", to=[entry] * 6))
    assert message.endswith(
        "task_instances[5]: expected at most 5000000 task instances in one file, found 6000000 up to here"
    )


LONG = {"dag_id": "😀" * 250, "run_id": "é" * 250, "task_id": "日" * 250, "state": None}
"""1000 + 500 + 750 bytes, each id of a length that is allowed."""


def test_ids_too_long_together() -> None:
    message = problem(changed("task_instances[0]", to={**LONG, "pool": "é" * 176}))
    assert message == (
        "small.yaml: task_instances[0].dag_id: expected dag_id, run_id, task_id and pool of at most 2600 bytes "
        "together, found 2602 bytes (shorten this one, it takes 1000)"
    )
    # Read in full, and wrong only in that there is no such run.
    message = problem(changed("task_instances[0]", to={**LONG, "pool": "é" * 175}))
    assert message.startswith("small.yaml: task_instances[0].run_id: expected a run of dag ")


def test_ids_of_an_edge_too_long_together() -> None:
    scenario = copy.deepcopy(SMALL)
    dag_id, upstream, task_id = "日" * 250, "😀" * 250, "😁" * 213
    scenario["dags"].append({"dag_id": dag_id, "max_active_tasks": 16})
    scenario["tasks"] += [
        {"dag_id": dag_id, "task_id": upstream},
        {"dag_id": dag_id, "task_id": task_id, "upstream": [upstream]},
    ]
    assert problem(yaml.safe_dump(scenario)) == (
        "small.yaml: tasks[3].upstream[0]: expected dag_id, task_id and upstream[0] of at most 2600 bytes together, "
        "found 2602 bytes (shorten this one, it takes 1000)"
    )
    scenario["tasks"][3]["task_id"] = task_id[1:]
    assert parse_scenario(yaml.safe_dump(scenario), "small.yaml").tasks[3].upstream == (upstream,)


def test_long_values_are_not_quoted_whole() -> None:
    message = problem(changed("kind", to="k" * 10_000))
    assert len(message) < 250
