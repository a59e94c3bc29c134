"""Random dags in random states, each row decided by Airflow's own dependency checks. Runs where Airflow is installed.

Usage: python record.py FILE KIND COUNT SEED, with KIND plain, mapped, groups or setups; AIRFLOW_HOME must be migrated.
Writes one JSON object per world and line: tasks, groups, sizes, states and decisions, keyed as the oracle keys them.
"""

from __future__ import annotations

import json
import random
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.models.dag import DagModel
from airflow.models.dag_version import DagVersion
from airflow.models.dagbundle import DagBundleModel
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.taskmap import TaskMap
from airflow.sdk import DAG, BaseOperator, task_group
from airflow.serialization.serialized_objects import DagSerialization
from airflow.ti_deps.dep_context import DepContext
from airflow.ti_deps.deps.mapped_task_upstream_dep import MappedTaskUpstreamDep
from airflow.ti_deps.deps.trigger_rule_dep import TriggerRuleDep
from airflow.utils.session import create_session
from airflow.utils.types import DagRunTriggeredByType, DagRunType

RULES = (
    "all_success",
    "all_failed",
    "all_done",
    "all_done_min_one_success",
    "all_skipped",
    "always",
    "none_failed",
    "none_failed_min_one_success",
    "none_skipped",
    "one_done",
    "one_failed",
    "one_success",
)
FINISHED = ("success", "skipped", "failed", "upstream_failed")
STATES = (None, None, "success", "success", "skipped", "failed", "upstream_failed", "running", "up_for_retry")
FEW = ("success", "success", "success", "skipped", None)
OPEN = (None,)
STATES_PER_DAG = 4
START = datetime(2026, 1, 1, tzinfo=UTC)


class Work(BaseOperator):
    def __init__(self, x: object = None, **options: Any) -> None:
        super().__init__(**options)
        self.x = x

    def execute(self, context: object) -> None:
        """Never run."""


def main(file: str, kind: str, count: int, seed: int) -> None:
    draw = random.Random(seed)
    with create_session() as session, open(file, "w") as out:  # noqa: PTH123 - no need of pathlib here
        version = prepare(session)
        for number in range(count):
            if number % STATES_PER_DAG == 0:
                shape = Shape(draw, kind)
            world = record(session, version, shape, draw, f"r{seed}_{kind}_{number}", START + timedelta(minutes=number))
            out.write(json.dumps(world) + "\n")
            session.rollback()


def prepare(session: Any) -> DagVersion:
    """The rows that runs and task instances refer to; all worlds are runs of one dag there."""
    session.merge(DagBundleModel(name="compare"))
    session.flush()
    session.merge(DagModel(dag_id="d", bundle_name="compare", fileloc="compare"))
    session.flush()
    version = session.query(DagVersion).filter_by(dag_id="d").one_or_none()
    if version is None:
        version = DagVersion(dag_id="d", version_number=1, bundle_name="compare")
        session.add(version)
    session.commit()
    return version


class Shape:
    """A random dag: as Airflow deserialized it, and as the oracle takes it."""

    def __init__(self, draw: random.Random, kind: str) -> None:
        self.draw = draw
        self.tasks: dict[str, dict[str, Any]] = {}
        self.lengths: dict[str, int] = {}
        self.groups: dict[str, dict[str, Any]] = {}
        with DAG("d", schedule=None, start_date=START) as dag:
            operators: dict[str, Any] = {}
            if kind == "groups":
                self.add_group(dag, operators)
            for number in range(draw.randint(2, 6)):
                self.add(operators, f"t{number}", kind)
        self.dag = DagSerialization.from_dict(DagSerialization.to_dict(dag))

    def add_group(self, dag: DAG, operators: dict[str, Any]) -> None:
        draw = self.draw
        inner: dict[str, Any] = {}
        before: list[str] = []
        over = None
        if draw.random() < 0.4:
            self.add(operators, "list", "plain")
            over = "list"
        length = draw.randint(1, 4)

        @task_group(group_id="g")
        def group(x: object) -> None:
            for number in range(draw.randint(1, 3)):
                upstream = draw.sample(before, draw.randint(0, len(before)))
                # Airflow refuses "always" where the length of the group is a task's result.
                rule = draw.choice([rule for rule in RULES if not over or rule != "always"])
                self.make(inner, f"a{number}", upstream, rule, group="g")
                before.append(f"g.a{number}")

        group.expand(x=operators[over].output if over else list(range(length)))
        self.groups["g"] = {"expands_over": [over] if over else []}
        self.lengths["g"] = length
        for name, operator in inner.items():
            operators[name] = operator
            if over and over in operator.upstream_task_ids and over not in self.tasks[name]["upstream"]:
                self.tasks[name]["upstream"].append(over)

    def add(self, operators: dict[str, Any], name: str, kind: str) -> None:
        draw = self.draw
        upstream = draw.sample(sorted(operators), draw.randint(0, min(len(operators), 4)))
        setups = [other for other in upstream if self.tasks[other]["is_setup"]]
        role = draw.choice(["plain", "plain", "setup", "teardown"]) if kind == "setups" else "plain"
        if role == "teardown" and not setups:
            role = "plain"
        mapped = kind in ("mapped", "groups") and draw.random() < 0.4
        self.make(operators, name, upstream, draw.choice(RULES), mapped=mapped, role=role)

    def make(
        self,
        operators: dict[str, Any],
        name: str,
        upstream: list[str],
        rule: str,
        mapped: bool = False,
        role: str = "plain",
        group: str | None = None,
    ) -> None:
        draw = self.draw
        full = f"{group}.{name}" if group else name
        task = {"upstream": list(upstream), "rule": rule, "group": group, "is_mapped": mapped, "expands_over": []}
        if role != "plain":
            task["rule"] = rule = "all_done_setup_success" if role == "teardown" else "all_success"
        if mapped:
            self.lengths[full] = draw.randint(1, 4)
            plain = [name for name in upstream if not self.tasks[name]["is_mapped"] and not self.tasks[name]["group"]]
            over = draw.choice(plain) if plain and draw.random() < 0.5 else None
            task["expands_over"] = [over] if over else []
            values = operators[over].output if over else list(range(self.lengths[full]))
            operator: Any = Work.partial(task_id=name, trigger_rule=rule).expand(x=values)
        else:
            operator = Work(task_id=name, trigger_rule=rule)
        operator.is_setup, operator.is_teardown = role == "setup", role == "teardown"
        task["is_setup"], task["is_teardown"] = operator.is_setup, operator.is_teardown
        for other in upstream:
            operator.set_upstream(operators[other])
        operators[full] = operator
        self.tasks[full] = task


def record(
    session: Any, version: DagVersion, shape: Shape, draw: random.Random, run_id: str, date: datetime
) -> dict[str, Any]:
    run = DagRun(
        dag_id="d",
        run_id=run_id,
        logical_date=date,
        run_after=date,
        run_type=DagRunType.MANUAL,
        state="running",
        triggered_by=DagRunTriggeredByType.TEST,
    )
    session.add(run)
    session.flush()
    sizes: dict[str, int] = {}
    given: dict[str, int | None] = {}
    instances: list[TaskInstance] = []
    for name, task in shape.tasks.items():
        node = name if task["is_mapped"] else task["group"]
        over = task["expands_over"] if task["is_mapped"] else shape.groups.get(node or "", {}).get("expands_over", [])
        if node and node not in sizes:
            # All that is expanded over one task's result is as long as that, or of unknown length.
            source = over[0] if over else node
            if source not in given:
                given[source] = shape.lengths[node] if not over or draw.random() < 0.7 else None
            if given[source] is not None:
                sizes[node] = given[source]
        size = sizes.get(node) if node else None
        states = draw.choice([STATES, FINISHED, FEW, OPEN, OPEN])
        # Sometimes the length is known and nothing is expanded yet.
        indexes = list(range(size)) if size and draw.random() > 0.05 else [-1]
        chosen = {index: draw.choice(states) for index in indexes}
        if size and task["is_mapped"] and indexes != [-1] and draw.random() < 0.2:
            chosen |= {size + extra: "removed" for extra in range(draw.randint(1, 2))}
        for index, state in chosen.items():
            instances.append(
                TaskInstance(shape.dag.get_task(name), run_id=run_id, state=state, map_index=index,
                             dag_version_id=version.id)
            )  # fmt: skip
    session.add_all(instances)
    session.flush()
    for source, length in given.items():
        if source not in sizes and length is not None:
            session.add(TaskMap(dag_id="d", task_id=source, run_id=run_id, map_index=-1, length=length, keys=None))
    session.flush()
    for instance in instances:
        instance.task = shape.dag.get_task(instance.task_id)
    return {
        "tasks": shape.tasks,
        "groups": shape.groups,
        "sizes": sizes,
        "states": [[ti.task_id, ti.map_index, ti.state] for ti in instances],
        "decisions": [
            [ti.task_id, ti.map_index, decide(session, ti, instances)] for ti in instances if ti.state is None
        ],
    }


def decide(session: Any, ti: TaskInstance, instances: list[TaskInstance]) -> str:
    """From the same states for every row: what a check sets is taken back."""
    finished = [other for other in instances if other.state in (*FINISHED, "removed")]
    context = DepContext(flag_upstream_failed=True, ignore_unmapped_tasks=True, finished_tis=finished)
    passed = True
    for dep in (TriggerRuleDep(), MappedTaskUpstreamDep()):
        # All of them, for each may set a state.
        statuses = list(dep.get_dep_statuses(ti, context, session=session))
        passed &= all(status.passed for status in statuses)
    state, ti.state = ti.state, None
    ti.start_date = ti.end_date = ti.duration = None
    session.flush()
    return str(state.value if hasattr(state, "value") else state) if state else "run" if passed else "wait"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
