"""Checks that span a scenario: every name it uses is listed, and no row stands in it twice."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from selectq.rows import Key
from selectq.scenario.fields import Place, shorten
from selectq.scenario.key_bytes import check_key_bytes
from selectq.scenario.model import Expectation, Group, Scenario, Task
from selectq.scenario.trigger_model import TriggerScenario, TriggerTask

MOST_ROWS = 5_000_000
"""Most task instances of one file; more is a slip of the finger, and would take hours to load."""

Ranges = dict[tuple[str, str, str], list[tuple[int, int, int]]]
"""Per (dag, run, task): (first map_index, last map_index, position in ``task_instances``), by map_index."""


def check_references(scenario: Scenario, top: Place) -> None:
    """Refuse a scenario whose parts do not fit together.

    Raises:
        ScenarioError: a dag, dag run, task or row that is not listed, a row listed twice, too many rows, ids of an edge
            between tasks that are too long together.
    """
    checker = Checker(scenario, top)
    checker.check_world()
    for index, step in enumerate(scenario.steps):
        place = checker.check_changes(index, step.finish, step.set_state)
        checker.check_expectation(place.field("expect"), step.expect)


def check_trigger_references(scenario: TriggerScenario, top: Place) -> None:
    """As ``check_references``, for a scenario of kind ``trigger``.

    Raises:
        ScenarioError: as there.
    """
    checker = Checker(scenario, top)
    checker.check_world()
    for index, step in enumerate(scenario.steps):
        place = checker.check_changes(index, step.finish, step.set_state)
        checker.need_rows(place.field("expect").field("decisions"), step.decisions)


class Checker:
    def __init__(self, scenario: Scenario | TriggerScenario, top: Place) -> None:
        self.scenario = scenario
        self.top = top
        self.dags = {dag.dag_id for dag in scenario.dags}
        self.tasks = {(task.dag_id, task.task_id) for task in scenario.tasks}
        self.runs = {(run.dag_id, run.run_id) for run in scenario.dag_runs}

    def check_world(self) -> None:
        """Dags, tasks, runs and rows."""
        scenario = self.scenario
        tasks: Sequence[Task | TriggerTask] = scenario.tasks
        for index, task in enumerate(tasks):
            place = self.top.field("tasks").item(index)
            self.need_dag(place, task.dag_id)
            for number, upstream in enumerate(task.upstream):
                below = place.field("upstream").item(number)
                if upstream == task.task_id:
                    raise below.wrong("another task", f"the task itself, {shorten(upstream)}")
                self.need_task(below, task.dag_id, upstream)
                edge = {"dag_id": task.dag_id, "task_id": task.task_id, f"upstream[{number}]": upstream}
                check_key_bytes(place, edge)
        for index, run in enumerate(scenario.dag_runs):
            self.need_dag(self.top.field("dag_runs").item(index), run.dag_id)
        self.ranges = self.check_instances()

    def check_changes(self, index: int, finish: Iterable[Key], set_state: Iterable[tuple[Key, str | None]]) -> Place:
        """What happens before a step; returns the place of the step."""
        place = self.top if index == 0 else self.top.field("then").item(index - 1)
        self.need_rows(place.field("finish"), finish)
        self.need_rows(place.field("set"), (key for key, _ in set_state))
        return place

    def check_instances(self) -> Ranges:
        total = 0
        ranges: Ranges = defaultdict(list)
        for index, entry in enumerate(self.scenario.task_instances):
            place = self.top.field("task_instances").item(index)
            self.need_run(place.field("run_id"), entry.dag_id, entry.run_id)
            self.need_task(place.field("task_id"), entry.dag_id, entry.task_id)
            total += entry.count
            if total > MOST_ROWS:
                raise place.wrong(f"at most {MOST_ROWS} task instances in one file", f"{total} up to here")
            last = entry.first + entry.count - 1
            ranges[entry.dag_id, entry.run_id, entry.task_id].append((entry.first, last, index))
        for spans in ranges.values():
            spans.sort()
            for (_, last, earlier), (first, _, later) in pairwise(spans):
                if first <= last:
                    earlier, later = sorted((earlier, later))
                    place = self.top.field("task_instances").item(later)
                    raise place.wrong("new rows", f"map_index {first} again, as in task_instances[{earlier}]")
        return ranges

    def check_expectation(self, place: Place, expect: Expectation) -> None:
        selected = expect.selected or ()
        blocked = expect.blocked or {}
        self.need_rows(place.field("selected"), selected)
        self.need_rows(place.field("blocked"), blocked)
        self.need_groups(place.field("selected_counts"), expect.selected_counts or ())
        self.need_groups(place.field("blocked_counts"), (group for group, _ in expect.blocked_counts or ()))
        for index, key in enumerate(selected):
            if key in blocked:
                here = place.field("selected").item(index)
                raise here.wrong("a row that is not blocked too", f"it in {place.path}.blocked")

    def need_dag(self, place: Place, dag_id: str) -> None:
        if dag_id not in self.dags:
            raise place.field("dag_id").wrong("a dag listed in dags", shorten(dag_id))

    def need_run(self, place: Place, dag_id: str, run_id: str) -> None:
        if (dag_id, run_id) not in self.runs:
            raise place.wrong(f"a run of dag {shorten(dag_id)} listed in dag_runs", shorten(run_id))

    def need_task(self, place: Place, dag_id: str, task_id: str) -> None:
        if (dag_id, task_id) not in self.tasks:
            raise place.wrong(f"a task of dag {shorten(dag_id)} listed in tasks", shorten(task_id))

    def need_rows(self, place: Place, keys: Iterable[Key]) -> None:
        for index, key in enumerate(keys):
            spans = self.ranges.get(key[:3], [])
            at = bisect_right(spans, key[3], key=lambda span: span[0]) - 1
            if at < 0 or key[3] > spans[at][1]:
                row = ", ".join([*(shorten(part) for part in key[:3]), f"map_index {key[3]}"])
                raise place.item(index).wrong("a row listed in task_instances", row)

    def need_groups(self, place: Place, groups: Iterable[Group]) -> None:
        for index, group in enumerate(groups):
            here = place.item(index)
            self.need_dag(here, group.dag_id)
            if group.run_id is not None:
                self.need_run(here.field("run_id"), group.dag_id, group.run_id)
            if group.task_id is not None:
                self.need_task(here.field("task_id"), group.dag_id, group.task_id)
