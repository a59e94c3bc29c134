"""The graph of a dag, walked once: which upstreams each task has to look at, and which of their instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from selectq.dags import Dag, Group, Task


@dataclass(frozen=True, slots=True)
class Relation:
    """One upstream of a task (a row of ``task_upstream``).

    ``relation`` is one of ``selectq.schema_upstream.RELATIONS``. ``is_setup``: the upstream is one.
    ``upstream_sized_by``: the mapped task or group that says how many instances it has; None = it has one.
    ``counts_rows``: some upstream of this relation is mapped, so rows are counted rather than tasks.
    ``common_group_no``: the nearest mapped group around both, in which an instance sees its own part of the upstream
    only; ``maps_further``: the upstream is expanded once more inside of that.
    """

    task_no: int
    upstream_no: int
    relation: str
    is_setup: bool
    upstream_sized_by: int | None
    counts_rows: bool
    common_group_no: int | None
    maps_further: bool


class Graph:
    """A dag without cycles whose names are all known.

    Attributes:
        numbers: task or group id -> its number in the dag, from 1.
    """

    def __init__(self, dag: Dag) -> None:
        self.tasks: dict[str, Task] = {task.task_id: task for task in dag.tasks}
        self.groups: dict[str, Group] = {group.group_id: group for group in dag.groups}
        self.numbers = {name: number for number, name in enumerate((*self.tasks, *self.groups), start=1)}
        self.below: dict[str, list[str]] = {name: [] for name in self.tasks}
        for task in dag.tasks:
            for upstream in task.upstream:
                self.below[upstream].append(task.task_id)
        order = list(TopologicalSorter({task.task_id: task.upstream for task in dag.tasks}).static_order())
        # Sets of tasks as bits: a dag of thousands of tasks has millions of pairs.
        self.all_above = self.closures(order, {name: task.upstream for name, task in self.tasks.items()})
        self.all_below = self.closures(reversed(order), self.below)
        self.teardowns = self.bits(name for name, task in self.tasks.items() if task.is_teardown)
        self.mapped_groups = {name: tuple(self.mapped_around(task.group)) for name, task in self.tasks.items()}

    def bits(self, names: Iterable[str]) -> int:
        return sum(1 << self.numbers[name] for name in set(names))

    def names(self, bits: int) -> Iterator[str]:
        return (name for name in self.tasks if bits >> self.numbers[name] & 1)

    def closures(self, order: Iterable[str], next_to: Mapping[str, Sequence[str]]) -> dict[str, int]:
        """Everything that can be reached; ``order`` has what a task reaches before the task."""
        found: dict[str, int] = {}
        for name in order:
            found[name] = self.bits(next_to[name])
            for near in next_to[name]:
                found[name] |= found[near]
        return found

    def mapped_around(self, group: str | None) -> Iterator[str]:
        """Mapped groups, the nearest first."""
        while group is not None:
            if self.groups[group].is_mapped:
                yield group
            group = self.groups[group].parent

    def sized_by(self, task: Task) -> str | None:
        """The mapped task or group that says how many instances a task has."""
        return task.task_id if task.is_mapped else next(iter(self.mapped_groups[task.task_id]), None)

    def relations(self) -> Iterator[Relation]:
        """All relations of all tasks."""
        for task in self.tasks.values():
            yield from self.related(task, "direct", task.upstream)
            if task.upstream and task.trigger_rule != "always":
                if task.is_teardown:
                    yield from self.related(task, "scope", self.scope(task))
                else:
                    yield from self.related(task, "setup", self.indirect_setups(task))
            yield from self.related(task, "expands", self.expanded_over(task))

    def related(self, task: Task, relation: str, upstreams: Iterable[str]) -> Iterator[Relation]:
        names = sorted(set(upstreams), key=self.numbers.__getitem__)
        counts_rows = any(self.sized_by(self.tasks[name]) for name in names)
        for name in names:
            upstream = self.tasks[name]
            sized_by = self.sized_by(upstream)
            shared = set(self.mapped_groups[name])
            common = next((group for group in self.mapped_groups[task.task_id] if group in shared), None)
            yield Relation(
                task_no=self.numbers[task.task_id],
                upstream_no=self.numbers[name],
                relation=relation,
                is_setup=upstream.is_setup,
                upstream_sized_by=None if sized_by is None else self.numbers[sized_by],
                counts_rows=counts_rows,
                common_group_no=None if common is None else self.numbers[common],
                maps_further=common is not None and sized_by != common,
            )

    def indirect_setups(self, task: Task) -> Iterator[str]:
        """Setups above a task that have no teardown or one below it, but for its direct upstreams."""
        teardowns_below = self.all_below[task.task_id] & self.teardowns
        for name in self.names(self.all_above[task.task_id] & ~self.bits(task.upstream)):
            own_teardowns = self.bits(self.below[name]) & self.teardowns
            if self.tasks[name].is_setup and (not own_teardowns or own_teardowns & teardowns_below):
                yield name

    def scope(self, teardown: Task) -> Iterator[str]:
        """Tasks between the setups of a teardown and it, but for its direct upstreams."""
        after_setups = 0
        for name in teardown.upstream:
            if self.tasks[name].is_setup:
                after_setups |= self.all_below[name]
        return self.names(self.all_above[teardown.task_id] & ~self.bits(teardown.upstream) & after_setups)

    def expanded_over(self, task: Task) -> Iterable[str]:
        if task.is_mapped:
            return task.expands_over
        nearest = next(iter(self.mapped_groups[task.task_id]), None)
        return () if nearest is None else self.groups[nearest].expands_over
