"""Pools that are nearly full, many, or shared by wide task instances; runs that span many."""

from __future__ import annotations

from typing import ClassVar

from benchmarks.bulk import Words
from benchmarks.workloads.grid import Grid


class HotPool(Grid):
    """The upper 5 of 10 priorities wait in 10 pools with 1 to 3 free slots, the lower 5 in 10 pools with room."""

    name: ClassVar[str] = "hot-pool"
    hot: ClassVar[int] = 10
    free_per_pool: ClassVar[int] = 96

    def pool(self, words: Words) -> str:
        drawn = words.drawn(self.hot, "pool", "dag_id", "task_id")
        return f"({drawn} + CASE WHEN {self.priority(words)} > {self.priorities // 2} THEN 0 ELSE {self.hot} END)"

    def free(self, words: Words) -> str:
        nearly_full = f"1 + {words.drawn(3, 'free', 'p.pool')}"
        return f"CASE WHEN p.i < {self.hot} THEN {nearly_full} ELSE {self.free_per_pool} END"


class Cross(Grid):
    """Each run spans 50 pools with one priority, and its 8 places are gone after a few rows of a few of them.

    What a row of one pool may do depends on the rows of its run that wait in others.
    """

    name: ClassVar[str] = "cross"
    pool_count: ClassVar[int] = 50
    max_active_tasks: ClassVar[int] = 8

    def priority(self, words: Words) -> str:
        return f"{words.drawn(self.priorities, 'priority', 'dag_id')} + 1"


class Wide(Grid):
    """Task instances take 1 to 8 slots of their pool; the pools get full on the way, and narrow ones still fit."""

    name: ClassVar[str] = "wide"
    free_per_pool: ClassVar[int] = 120

    def pool_slots(self, words: Words) -> str:
        return f"1 + {words.drawn(8, 'slots', 'dag_id', 'task_id')}"


class ManyPools(Grid):
    """2,000 pools with 2 free slots each."""

    name: ClassVar[str] = "many-pools"
    pool_count: ClassVar[int] = 2000
    free_per_pool: ClassVar[int] = 2
