"""Upstream counts that were asked for already, for the length of one pass (SPEC 5)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from selectq.rows import RunKey, UpstreamCount

EntryKey = tuple[str, str, frozenset[str]]
"""(dag_id, run_id, ids of the upstream tasks)."""

Ask = Callable[[Collection[str]], Iterable[UpstreamCount]]
"""Counts of these tasks in the run that is asked about, from the database."""


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """Task instances of one task in one run, by state (None = not scheduled yet); only states that some are in."""

    is_setup: bool = False
    by_state: Mapping[str | None, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UpstreamCounts:
    """Task instances of a set of upstream tasks in one run, per task, as they were when they were counted."""

    dag_id: str
    run_id: str
    tasks: Mapping[str, TaskCounts]

    def count(self, *states: str | None, setups: bool = False) -> int:
        """Task instances in one of these states, or in any if none is named; of setups alone if asked for."""
        return sum(
            instances
            for task in self.tasks.values()
            if task.is_setup or not setups
            for state, instances in task.by_state.items()
            if not states or state in states
        )


@dataclass(frozen=True, slots=True)
class MemoStats:
    """``hits``: answers without a query; ``misses``: answers that took one; ``drops``: entries that growth dropped."""

    hits: int = 0
    misses: int = 0
    drops: int = 0


class UpstreamMemo:
    """Answers by (dag_id, run_id, set of upstream task ids); the counts below them are shared by all sets of a run.

    Growth of a task drops the entries of its run that contain it. Nothing else does: a change of state alone changes no
    row count, and whoever needs states of this moment decides in SQL.
    """

    def __init__(self) -> None:
        self._entries: dict[EntryKey, UpstreamCounts] = {}
        self._tasks: dict[RunKey, dict[str, TaskCounts]] = {}
        self._whole: dict[RunKey, set[str]] = {}
        """Runs that were counted as a whole, with the tasks that have grown since."""
        self._hits = self._misses = self._drops = 0

    @property
    def stats(self) -> MemoStats:
        return MemoStats(self._hits, self._misses, self._drops)

    def get(self, dag_id: str, run_id: str, upstream_task_ids: Collection[str], ask: Ask) -> UpstreamCounts:
        """The counts of a set; ``ask`` is called at most once, for the tasks that are not known."""
        key = (dag_id, run_id, frozenset(upstream_task_ids))
        if (entry := self._entries.get(key)) is not None:
            self._hits += 1
            return entry
        missing = sorted(name for name in key[2] if not self._is_known((dag_id, run_id), name))
        if missing:
            self._misses += 1
            # Asked first: what was not answered must not count as known.
            counted = list(ask(missing))
            self._tasks.setdefault((dag_id, run_id), {}).update(dict.fromkeys(missing, TaskCounts()))
            self._keep(counted)
        else:
            self._hits += 1
        known = self._tasks.get((dag_id, run_id), {})
        entry = UpstreamCounts(dag_id, run_id, {name: known.get(name, TaskCounts()) for name in sorted(key[2])})
        self._entries[key] = entry
        return entry

    def fill(self, runs: Iterable[RunKey], counts: Iterable[UpstreamCount]) -> None:
        """Take in the counts of all tasks of some runs; a task that is not among them has no instances there."""
        filled = set(runs)
        for run in filled:
            self._tasks[run] = {}
            self._whole[run] = set()
        for key in [key for key in self._entries if key[:2] in filled]:
            del self._entries[key]
        self._keep(counts)

    def grew(self, dag_id: str, run_id: str, task_id: str) -> None:
        """Forget what contains a task whose number of instances in this run has changed."""
        run = (dag_id, run_id)
        self._tasks.get(run, {}).pop(task_id, None)
        if run in self._whole:
            self._whole[run].add(task_id)
        outdated = [key for key in self._entries if key[:2] == run and task_id in key[2]]
        for key in outdated:
            del self._entries[key]
        self._drops += len(outdated)

    def _is_known(self, run: RunKey, task_id: str) -> bool:
        """Counted, or of a run that was counted as a whole and not grown since."""
        return task_id in self._tasks.get(run, {}) or (run in self._whole and task_id not in self._whole[run])

    def _keep(self, counts: Iterable[UpstreamCount]) -> None:
        found: dict[tuple[str, str, str], dict[str | None, int]] = {}
        setups: dict[tuple[str, str, str], bool] = {}
        for row in counts:
            key = (row.dag_id, row.run_id, row.task_id)
            found.setdefault(key, {})[row.state] = row.instances
            setups[key] = row.is_setup
        for key, by_state in found.items():
            self._tasks.setdefault(key[:2], {})[key[2]] = TaskCounts(setups[key], by_state)
