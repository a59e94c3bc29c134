"""What may be scheduled, worked out row by row in plain Python from the rules; imports nothing of selectq.

Slow and simple on purpose: every question is asked of the rows themselves, for one task instance at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

Key = tuple[str, str, str, int]
"""(dag_id, run_id, task_id, map_index)."""

FINISHED = ("success", "skipped", "failed", "upstream_failed", "removed")
UNDECIDED = (None, "up_for_retry", "up_for_reschedule")
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Task:
    """``group`` is the nearest mapped group, ``is_mapped`` says that the task itself is expanded inside of it."""

    upstream: tuple[str, ...] = ()
    rule: str = "all_success"
    is_setup: bool = False
    is_teardown: bool = False
    group: str | None = None
    is_mapped: bool = False
    expands_over: tuple[str, ...] = ()
    depends_on_past: bool = False
    wait_for_downstream: bool = False
    ignore_first_depends_on_past: bool = True

    @property
    def needs_expansion(self) -> bool:
        return self.is_mapped or self.group is not None


@dataclass(frozen=True)
class Group:
    """A mapped group; ``parent`` is the nearest mapped group around it."""

    parent: str | None = None
    expands_over: tuple[str, ...] = ()


@dataclass(frozen=True)
class World:
    """``sizes``: (dag, run, mapped task or group) -> instances in all; not there = not known yet.

    ``dates``: (dag, run) -> logical date; ``not_before``: when a row may be tried again.
    """

    tasks: Mapping[tuple[str, str], Task]
    states: Mapping[Key, str | None]
    groups: Mapping[tuple[str, str], Group] = field(default_factory=dict)
    sizes: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    dates: Mapping[tuple[str, str], datetime | None] = field(default_factory=dict)
    not_before: Mapping[Key, datetime] = field(default_factory=dict)
    now: datetime = LONG_AGO

    def with_states(self, states: Mapping[Key, str | None]) -> World:
        return replace(self, states={**self.states, **states})


@dataclass(frozen=True)
class Counts:
    """Finished rows by state, how many are expected, and the same for setups."""

    states: Counter[str]
    expected: int
    setup_states: Counter[str]
    expected_setups: int

    @property
    def done(self) -> int:
        return self.states.total()


def decide_all(world: World) -> dict[Key, str]:
    """Every row that is not scheduled yet -> its decision."""
    oracle = Oracle(world)
    return {key: oracle.decide(key) for key, state in world.states.items() if state in UNDECIDED}


class Oracle:
    def __init__(self, world: World) -> None:
        self.world = world
        self.rows: dict[tuple[str, str, str], dict[int, str | None]] = {}
        for (dag_id, run_id, task_id, index), state in world.states.items():
            self.rows.setdefault((dag_id, run_id, task_id), {})[index] = state

    def decide(self, key: Key) -> str:
        dag_id, run_id, task_id, index = key
        task = self.task(dag_id, task_id)
        size = self.size(dag_id, run_id, task_id)
        if index < 0 and size:
            return "wait"
        decision = self.by_upstreams(key, task)
        if decision != "run":
            return decision
        if index < 0 and size == 0:
            return "skipped"
        if self.world.not_before.get(key, LONG_AGO) > self.world.now and self.world.states[key] is not None:
            return "wait"
        return "run" if self.past_is_met(key, task) else "wait"

    def by_upstreams(self, key: Key, task: Task) -> str:
        flags = [self.over_failed_expansion(key, task), self.by_rule(key, task)]
        for worst in ("upstream_failed", "skipped", "removed", "wait"):
            if worst in flags:
                return worst
        return "run"

    def over_failed_expansion(self, key: Key, task: Task) -> str:
        """What a row is expanded over must have succeeded, unless that is expanded itself."""
        dag_id, run_id, _, _ = key
        over = task.expands_over
        if not task.is_mapped:
            over = self.world.groups[dag_id, task.group].expands_over if task.group else ()
        found = {self.rows.get((dag_id, run_id, name), {}).get(-1) for name in over} & set(FINISHED)
        if found & {"failed", "upstream_failed"}:
            return "upstream_failed"
        if "skipped" in found:
            return "skipped"
        return "wait" if "removed" in found else "run"

    def by_rule(self, key: Key, task: Task) -> str:
        if not task.upstream or task.rule == "always":
            return "run"
        setups_hold = True
        if not task.is_teardown:
            setups = self.counts(key, self.relevant_setups(key) - set(task.upstream))
            flag = setup_flag(setups, key[3])
            if flag:
                return flag
            missing = setups.expected - setups.states["success"] - (setups.states["removed"] if key[3] > -1 else 0)
            setups_hold = missing <= 0
        counts = self.counts(key, set(task.upstream))
        flag = rule_flag(task.rule, counts, key[3])
        if flag:
            return flag
        if not setups_hold or not rule_holds(task.rule, counts):
            return "wait"
        if task.is_teardown:
            scope = self.counts(key, self.scope(key))
            return "run" if scope.done >= scope.expected else "wait"
        return "run"

    def counts(self, key: Key, upstreams: set[str]) -> Counts:
        dag_id = key[0]
        by_rows = any(self.task(dag_id, name).needs_expansion for name in upstreams)
        states: Counter[str] = Counter()
        setup_states: Counter[str] = Counter()
        expected = expected_setups = 0
        for name in upstreams:
            rows, missing = self.relevant(key, name)
            found = Counter(state for state in rows if state in FINISHED)
            count = len(rows) + missing if by_rows else 1
            states += found
            expected += count
            if self.task(dag_id, name).is_setup:
                setup_states += found
                expected_setups += count
        return Counts(states, expected, setup_states, expected_setups)

    def relevant(self, key: Key, upstream: str) -> tuple[list[str | None], int]:
        """States of the upstream's rows that matter to this one, and how many more there will be."""
        dag_id, run_id, _, _ = key
        rows = self.rows.get((dag_id, run_id, upstream), {})
        wanted = self.relevant_indexes(key, upstream)
        states = [state for index, state in rows.items() if index < 0 or wanted is None or index in wanted]
        if not self.task(dag_id, upstream).needs_expansion:
            return states, max(0, 1 - len(rows))
        if -1 in rows:
            return states, 0
        size = self.size(dag_id, run_id, upstream) or 0
        missing = sum(index not in rows for index in range(size) if wanted is None or index in wanted)
        if wanted is None and not rows and not missing:
            missing = 1
        return states, missing

    def relevant_indexes(self, key: Key, upstream: str) -> range | None:
        """None = all."""
        dag_id, run_id, task_id, index = key
        common = next((g for g in self.groups(dag_id, task_id) if g in self.groups(dag_id, upstream)), None)
        own = self.size(dag_id, run_id, task_id)
        if common is None or not own:
            return None
        around = self.world.sizes[dag_id, run_id, common]
        place = index * around // own
        further = self.task(dag_id, upstream).is_mapped or self.task(dag_id, upstream).group != common
        width = own // around if further else 1
        return range(place * width, (place + 1) * width)

    def size(self, dag_id: str, run_id: str, task_id: str) -> int | None:
        task = self.task(dag_id, task_id)
        node = task_id if task.is_mapped else task.group
        return None if node is None else self.world.sizes.get((dag_id, run_id, node))

    def groups(self, dag_id: str, task_id: str) -> list[str]:
        """Mapped groups around a task, the nearest first."""
        found = []
        group = self.task(dag_id, task_id).group
        while group is not None:
            found.append(group)
            group = self.world.groups[dag_id, group].parent
        return found

    def relevant_setups(self, key: Key) -> set[str]:
        """Setups above that have no teardown, or one below this task."""
        dag_id, _, task_id, _ = key
        below = {name for name in self.downstream(dag_id, task_id) if self.task(dag_id, name).is_teardown}
        setups = {name for name in self.upstream(dag_id, task_id) if self.task(dag_id, name).is_setup}
        teardowns = {
            setup: {name for name in self.children(dag_id, setup) if self.task(dag_id, name).is_teardown}
            for setup in setups
        }
        return {setup for setup in setups if not teardowns[setup] or teardowns[setup] & below}

    def scope(self, key: Key) -> set[str]:
        """Tasks between the setups of a teardown and it, other than its direct upstreams."""
        dag_id, _, task_id, _ = key
        direct = set(self.task(dag_id, task_id).upstream)
        setups = (name for name in direct if self.task(dag_id, name).is_setup)
        after = {below for setup in setups for below in self.downstream(dag_id, setup)}
        return (self.upstream(dag_id, task_id) - direct) & after

    def past_is_met(self, key: Key, task: Task) -> bool:
        if not (task.depends_on_past or task.wait_for_downstream):
            return True
        dag_id, run_id, task_id, _ = key
        before = self.previous_run(dag_id, run_id)
        if before is None:
            return True
        rows = self.rows.get((dag_id, before, task_id), {})
        if not rows:
            return task.ignore_first_depends_on_past and not self.ran_before(key)
        waited_for = list(rows.values())
        if task.wait_for_downstream:
            for name in self.children(dag_id, task_id):
                waited_for += self.rows.get((dag_id, before, name), {}).values()
        return all(state in ("success", "skipped") for state in waited_for)

    def earlier_runs(self, dag_id: str, run_id: str) -> list[tuple[datetime, str]]:
        own = self.world.dates.get((dag_id, run_id))
        return [
            (date, run)
            for (dag, run), date in self.world.dates.items()
            if dag == dag_id and date is not None and own is not None and date < own
        ]

    def previous_run(self, dag_id: str, run_id: str) -> str | None:
        return max(self.earlier_runs(dag_id, run_id), default=(None, None))[1]

    def ran_before(self, key: Key) -> bool:
        return any((key[0], run, key[2]) in self.rows for _, run in self.earlier_runs(key[0], key[1]))

    def task(self, dag_id: str, task_id: str) -> Task:
        return self.world.tasks[dag_id, task_id]

    def children(self, dag_id: str, task_id: str) -> Iterator[str]:
        return (name for (dag, name), task in self.world.tasks.items() if dag == dag_id and task_id in task.upstream)

    def upstream(self, dag_id: str, task_id: str) -> set[str]:
        return closure(task_id, lambda name: self.task(dag_id, name).upstream)

    def downstream(self, dag_id: str, task_id: str) -> set[str]:
        return closure(task_id, lambda name: self.children(dag_id, name))


def closure(start: str, step: object) -> set[str]:
    found: set[str] = set()
    todo: list[str] = [start]
    while todo:
        nearest: Iterable[str] = step(todo.pop())  # type: ignore[operator]
        new = set(nearest) - found
        found |= new
        todo += new
    return found


def setup_flag(counts: Counts, index: int) -> str | None:
    states = counts.states
    if states["upstream_failed"] or states["failed"]:
        return "upstream_failed"
    if states["skipped"]:
        return "skipped"
    if states["removed"] and states["success"] and index > -1 and index >= states["success"]:
        return "removed"
    return None


def rule_flag(rule: str, counts: Counts, index: int) -> str | None:
    """What a rule makes of a row other than letting it run."""
    states = counts.states
    success, skipped, removed = states["success"], states["skipped"], states["removed"]
    bad = states["failed"] + states["upstream_failed"]
    done, done_count, expected = counts.done >= counts.expected, counts.done, counts.expected
    if rule == "all_success":
        return setup_flag(counts, index)
    if rule == "all_failed":
        return "skipped" if success or skipped else None
    if rule == "all_done_min_one_success":
        if skipped:
            return "skipped"
        return "upstream_failed" if success + bad + removed >= expected - skipped and not success else None
    if rule == "all_done_setup_success":
        setups = counts.expected_setups
        if not done or not setups:
            return None
        if counts.setup_states["skipped"] >= setups:
            return "skipped"
        return None if counts.setup_states["success"] else "upstream_failed"
    if rule == "one_success":
        if not done:
            return None
        if done_count == skipped:
            return "skipped"
        return None if success else "upstream_failed"
    if rule == "one_failed":
        return "skipped" if done and not bad else None
    if rule == "one_done":
        return "skipped" if done and not success + states["failed"] else None
    if rule == "none_failed":
        return "upstream_failed" if bad else None
    if rule == "none_failed_min_one_success":
        if bad:
            return "upstream_failed"
        if skipped == expected:
            return "skipped"
        return "upstream_failed" if done and not success else None
    if rule == "none_skipped":
        return "skipped" if skipped else None
    if rule == "all_skipped":
        return "skipped" if success or bad else None
    assert rule == "all_done", rule
    return None


def rule_holds(rule: str, counts: Counts) -> bool:
    states = counts.states
    success, skipped, removed = states["success"], states["skipped"], states["removed"]
    bad = states["failed"] + states["upstream_failed"]
    done, expected = counts.done >= counts.expected, counts.expected
    return {
        "all_success": expected - success - removed <= 0,
        "all_failed": expected - bad - removed <= 0,
        "all_done": done,
        "all_done_min_one_success": not skipped and success + bad >= expected - skipped - removed and success > 0,
        "all_done_setup_success": done and (not counts.expected_setups or counts.setup_states["success"] > 0),
        "one_success": success > 0,
        "one_failed": bad > 0,
        "one_done": success + states["failed"] > 0,
        "none_failed": expected - success - skipped - removed <= 0,
        "none_failed_min_one_success": expected - success - skipped - removed <= 0 and success > 0,
        "none_skipped": done and not skipped,
        "all_skipped": expected - skipped <= 0,
    }[rule]
