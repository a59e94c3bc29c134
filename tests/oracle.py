"""What selectq must answer, as the plainest Python there is: no SQL, nothing imported from selectq, no speed.

The walk: candidates in order; each is admitted iff it fits every one of its holders, counting what is active and what
the walk has admitted; ``max_tis`` admitted rows end it. Every count is made anew from the states of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

Key = tuple[str, str, str, int]
BEFORE_ALL_DATES = datetime(1, 1, 1, tzinfo=UTC)
POOL_ACTIVE = {"queued", "running"}
RUN_ACTIVE = {"queued", "running"}
TASK_ACTIVE = {"queued", "running", "deferred"}


@dataclass(frozen=True)
class Pool:
    slots: int
    include_deferred: bool = False


@dataclass(frozen=True)
class Dag:
    max_active_tasks: int = 16
    is_paused: bool = False


@dataclass(frozen=True)
class Task:
    max_active_tis_per_dag: int | None = None
    max_active_tis_per_dagrun: int | None = None


@dataclass(frozen=True)
class Run:
    state: str = "running"
    logical_date: datetime | None = None


@dataclass(frozen=True)
class Instance:
    state: str | None = "scheduled"
    pool: str = "default_pool"
    pool_slots: int = 1
    priority_weight: int = 1
    executor: str | None = None


@dataclass(frozen=True)
class World:
    """Everything a pass reads. Pools and tasks may be missing; dags and runs of the instances may not."""

    pools: Mapping[str, Pool]
    dags: Mapping[str, Dag]
    tasks: Mapping[tuple[str, str], Task]
    runs: Mapping[tuple[str, str], Run]
    instances: Mapping[Key, Instance]
    max_tis: int = 512
    executor_slots: Mapping[str, int] = field(default_factory=dict)

    def with_states(self, states: Mapping[Key, str | None]) -> World:
        """The same world after these rows have changed state."""
        changed = {key: replace(self.instances[key], state=state) for key, state in states.items()}
        return replace(self, instances={**self.instances, **changed})


@dataclass(frozen=True)
class Limit:
    """One limit as a candidate meets it at its place in the walk; ``capacity`` None = unlimited."""

    name: str
    holder: tuple[str, ...]
    used: int | None
    capacity: int | None
    weight: int = 1
    never: bool = False

    @property
    def free(self) -> int | None:
        return None if self.capacity is None or self.used is None else self.capacity - self.used

    @property
    def fits(self) -> bool:
        return self.name != "no_pool" and (self.free is None or self.weight <= self.free)


@dataclass(frozen=True)
class Reason:
    limit: str
    holder: tuple[str, ...]
    used: int | None
    capacity: int | None
    never: bool


@dataclass(frozen=True)
class Answer:
    admitted: list[Key]
    """In order."""
    free: dict[Key, dict[str, int | None]]
    """Per admitted row and limit: what was free at its place, before it took its own; None = unlimited."""
    blocked: dict[Key, set[Reason]]
    """Every scheduled row that was not admitted."""


def walk(world: World) -> Answer:
    """The exact greedy answer, and why every other scheduled row has to wait."""
    now = world
    admitted: list[Key] = []
    free: dict[Key, dict[str, int | None]] = {}
    blocked: dict[Key, set[Reason]] = {}
    for key, instance in world.instances.items():
        if instance.state == "scheduled" and (reasons := no_candidate(world, key)):
            blocked[key] = reasons
    for key in sorted(candidates(world), key=lambda key: place_in_order(world, key)):
        met = list(limits(now, key, admitted))
        broken = {
            Reason(limit.name, limit.holder, limit.used, limit.capacity, limit.never) for limit in met if not limit.fits
        }
        if broken:
            blocked[key] = broken
        else:
            free[key] = {limit.name: limit.free for limit in met}
            admitted.append(key)
            now = now.with_states({key: "queued"})
    return Answer(admitted, free, blocked)


def no_candidate(world: World, key: Key) -> set[Reason]:
    dag_id, run_id, _, _ = key
    reasons = set()
    if world.dags[dag_id].is_paused:
        reasons.add(Reason("paused", (dag_id,), None, None, never=False))
    if world.runs[dag_id, run_id].state != "running":
        reasons.add(Reason("dag_run_state", (dag_id, run_id), None, None, never=False))
    return reasons


def candidates(world: World) -> list[Key]:
    return [key for key, row in world.instances.items() if row.state == "scheduled" and not no_candidate(world, key)]


def place_in_order(world: World, key: Key) -> tuple[object, ...]:
    dag_id, run_id, task_id, map_index = key
    date = world.runs[dag_id, run_id].logical_date
    return (
        -world.instances[key].priority_weight,
        date is None,
        date or BEFORE_ALL_DATES,
        dag_id.encode(),
        run_id.encode(),
        task_id.encode(),
        map_index,
    )


def limits(world: World, key: Key, admitted: list[Key]) -> Iterator[Limit]:
    """Every limit that the row meets, with what is used of it in ``world``, where admitted rows are queued already."""
    dag_id, run_id, task_id, _ = key
    instance = world.instances[key]

    if instance.pool not in world.pools:
        yield Limit("no_pool", (instance.pool,), None, None, never=True)
    else:
        pool = world.pools[instance.pool]
        counted = POOL_ACTIVE | ({"deferred"} if pool.include_deferred else set())
        used = sum(
            row.pool_slots for row in world.instances.values() if row.pool == instance.pool and row.state in counted
        )
        capacity = None if pool.slots == -1 else pool.slots
        too_wide = capacity is not None and instance.pool_slots > capacity
        yield Limit("pool", (instance.pool,), used, capacity, instance.pool_slots, too_wide)

    used = sum(other[:2] == key[:2] and row.state in RUN_ACTIVE for other, row in world.instances.items())
    capacity = world.dags[dag_id].max_active_tasks
    yield Limit("max_active_tasks", (dag_id, run_id), used, capacity, never=capacity <= 0)

    task = world.tasks.get((dag_id, task_id), Task())
    same_task = [
        other
        for other, row in world.instances.items()
        if (other[0], other[2]) == (dag_id, task_id) and row.state in TASK_ACTIVE
    ]
    capacity = task.max_active_tis_per_dag
    never = capacity is not None and capacity <= 0
    yield Limit("max_active_tis_per_dag", (dag_id, task_id), len(same_task), capacity, never=never)

    used = sum(other[1] == run_id for other in same_task)
    capacity = task.max_active_tis_per_dagrun
    never = capacity is not None and capacity <= 0
    yield Limit("max_active_tis_per_dagrun", (dag_id, run_id, task_id), used, capacity, never=never)

    executor = instance.executor or ""
    used = sum((world.instances[other].executor or "") == executor for other in admitted)
    yield Limit("executor", (executor,), used, world.executor_slots.get(executor))

    yield Limit("max_tis", (), len(admitted), world.max_tis)
