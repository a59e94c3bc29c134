"""What a scenario file of kind ``trigger`` says, checked: frozen records (``tests/cases/FORMAT.md``)."""

from __future__ import annotations

from dataclasses import dataclass

from selectq import dags as definable
from selectq.rows import Key
from selectq.scenario.model import Dag, Instances, Pool, Run


@dataclass(frozen=True, slots=True)
class TriggerTask:
    """A task; ``expand_length`` None = not known yet, where ``is_mapped`` says that it is expanded at all."""

    dag_id: str
    task_id: str
    upstream: tuple[str, ...]
    trigger_rule: str
    retries: int
    is_setup: bool
    is_teardown: bool
    max_active_tis_per_dag: int | None
    max_active_tis_per_dagrun: int | None
    expand_length: int | None
    is_mapped: bool
    mapped_group: str | None


@dataclass(frozen=True, slots=True)
class TriggerStep:
    """What happens before a look at all undecided rows, and the decisions expected of it."""

    finish: tuple[Key, ...]
    set_state: tuple[tuple[Key, str | None], ...]
    decisions: dict[Key, str]


@dataclass(frozen=True, slots=True)
class TriggerScenario:
    """A whole file of kind ``trigger``; the first step is the case itself, then one per entry of ``then``.

    ``definitions`` holds the dags as ``selectq.define`` takes them; ``sizes`` how many instances a mapped task or group
    has: (dag_id, node) -> number, for all runs of the dag.
    """

    id: str
    title: str
    pools: tuple[Pool, ...]
    dags: tuple[Dag, ...]
    tasks: tuple[TriggerTask, ...]
    dag_runs: tuple[Run, ...]
    task_instances: tuple[Instances, ...]
    steps: tuple[TriggerStep, ...]
    definitions: tuple[definable.Dag, ...]
    sizes: dict[tuple[str, str], int]
