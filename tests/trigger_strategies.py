"""Random dags with mapped tasks, nested mapped groups, setups and teardowns, in random states."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from tests.oracle_trigger import Group, Key, Task, World

RULES = (
    "all_success",
    "all_failed",
    "all_done",
    "all_done_min_one_success",
    "all_done_setup_success",
    "all_skipped",
    "always",
    "none_failed",
    "none_failed_min_one_success",
    "none_skipped",
    "one_done",
    "one_failed",
    "one_success",
)
FINISHED = ("success", "skipped", "failed", "upstream_failed", "removed")
STATES = (None, *FINISHED, "running", "scheduled", "up_for_retry", "up_for_reschedule")
NOW = datetime.now(UTC)
JANUARY = datetime(2026, 1, 1, tzinfo=UTC)

SHAPES: dict[str, dict[str, Group]] = {
    "flat": {},
    "group": {"g": Group()},
    "nested": {"g": Group(), "g.h": Group("g"), "k": Group()},
}


@st.composite
def trigger_worlds(draw: st.DrawFn) -> World:
    """One or two dags of a few tasks, in one to three runs each."""
    tasks: dict[tuple[str, str], Task] = {}
    groups: dict[tuple[str, str], Group] = {}
    for dag_id in draw(st.sampled_from([["a"], ["a", "Ä"]])):
        shape = SHAPES[draw(st.sampled_from(sorted(SHAPES)))]
        found = draw(dags(shape))
        tasks |= {(dag_id, name): task for name, task in found.items()}
        for name, group in shape.items():
            over = draw(st.lists(st.sampled_from(sorted(found)), max_size=1))
            groups[dag_id, name] = Group(group.parent, tuple(name for name in over if found[name].group is None))
    dates = {
        (dag_id, f"r{number}"): None if number == 2 and draw(st.booleans()) else JANUARY + timedelta(days=number)
        for dag_id in sorted({dag_id for dag_id, _ in tasks})
        for number in range(draw(st.integers(1, 3)))
    }
    sizes: dict[tuple[str, str, str], int] = {}
    states: dict[Key, str | None] = {}
    for dag_id, run_id in dates:
        sizes |= draw(sizes_of(dag_id, run_id, tasks, groups))
        states |= draw(states_of(dag_id, run_id, tasks, sizes))
    not_before = {
        key: NOW + draw(st.sampled_from([timedelta(days=-1), timedelta(days=1000)]))
        for key, state in states.items()
        if state in ("up_for_retry", "up_for_reschedule", None) and draw(st.integers(0, 3)) == 0
    }
    return World(tasks, states, groups, sizes, dates, not_before, NOW)


@st.composite
def dags(draw: st.DrawFn, groups: dict[str, Group]) -> dict[str, Task]:
    found: dict[str, Task] = {}
    for number in range(draw(st.integers(2, 7))):
        kind = draw(st.sampled_from(["plain", "plain", "plain", "setup", "teardown"]))
        upstream = draw(st.lists(st.sampled_from(sorted(found)), unique=True, max_size=4)) if found else []
        if kind == "teardown" and not any(found[name].is_setup for name in upstream):
            kind = "plain"
        is_mapped = draw(st.integers(0, 3)) == 0
        over = draw(st.lists(st.sampled_from(upstream), unique=True, max_size=1)) if upstream and is_mapped else []
        past = draw(st.sampled_from(["no", "no", "no", "past", "downstream"]))
        found[f"t{number}"] = Task(
            upstream=tuple(upstream),
            rule="all_done_setup_success" if kind == "teardown" else draw(st.sampled_from(RULES)),
            is_setup=kind == "setup",
            is_teardown=kind == "teardown",
            group=draw(st.sampled_from([None, *groups])),
            is_mapped=is_mapped,
            expands_over=tuple(over),
            depends_on_past=past != "no",
            wait_for_downstream=past == "downstream",
            ignore_first_depends_on_past=draw(st.booleans()),
        )
    return found


@st.composite
def sizes_of(
    draw: st.DrawFn,
    dag_id: str,
    run_id: str,
    tasks: dict[tuple[str, str], Task],
    groups: dict[tuple[str, str], Group],
) -> dict[tuple[str, str, str], int]:
    """Sizes inside a group are known only if the group's is; lengths multiply."""
    sizes: dict[tuple[str, str, str], int] = {}
    nodes: list[tuple[str, str | None]] = [(name, g.parent) for (dag, name), g in groups.items() if dag == dag_id]
    nodes += [(name, task.group) for (dag, name), task in tasks.items() if dag == dag_id and task.is_mapped]
    for name, parent in nodes:
        length = draw(st.sampled_from([None, 0, 1, 2, 2, 3]))
        around = 1 if parent is None else sizes.get((dag_id, run_id, parent))
        if length is not None and around is not None:
            sizes[dag_id, run_id, name] = length * around
    return sizes


@st.composite
def states_of(
    draw: st.DrawFn,
    dag_id: str,
    run_id: str,
    tasks: dict[tuple[str, str], Task],
    sizes: dict[tuple[str, str, str], int],
) -> dict[Key, str | None]:
    """Mostly the rows that there should be; sometimes one is missing, a placeholder, or left over and removed."""
    states: dict[Key, str | None] = {}
    for (dag, name), task in tasks.items():
        if dag != dag_id:
            continue
        node = name if task.is_mapped else task.group
        size = None if node is None else sizes.get((dag_id, run_id, node))
        indexes = list(range(size)) if size and draw(st.integers(0, 4)) else [-1]
        common = draw(st.sampled_from([STATES, FINISHED, ("success",), ("success", "skipped"), (None,)]))
        for index in indexes:
            if draw(st.integers(0, 12)):
                states[dag_id, run_id, name, index] = draw(st.sampled_from(common))
        if size and indexes != [-1]:
            for index in range(size, size + draw(st.sampled_from([0, 0, 1, 3]))):
                states[dag_id, run_id, name, index] = draw(st.sampled_from(["removed", "removed", "success"]))
    return states
