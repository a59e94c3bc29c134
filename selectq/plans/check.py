"""``selectq explain --check``: the plan of every query on known data, held against the committed baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import sqlalchemy as sa

from selectq.catalogue import Catalogue, Query
from selectq.errors import InvalidParameterError
from selectq.plans.baseline import Baselines, Shape, server_key, shape_of
from selectq.plans.compare import RULES, Difference, Place, compare, kinds, reads_backlog, waived
from selectq.plans.explain import explain, rolled_back
from selectq.plans.model import Plan
from selectq.plans.played import played
from selectq.plans.states import STATES, Workload, loaded_states, tables_of
from selectq.plans.values import Selecting

Progress = Callable[[str], None]

LARGE = {
    "selection": ("task_instance",),
    "upstream": ("task_instance",),
    "parsing": ("dag_file", "parse_request", "parse_payload"),
}
"""The tables of each area that no query may read whole."""


@dataclass
class Found:
    """What a check saw on one server: the shapes of each query by place, and the places.

    ``unexplained`` says why a query could not be explained somewhere: it is not run there, and only who runs it can
    know its parameters.
    """

    server: str
    shapes: dict[str, dict[str, Shape]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    unexplained: dict[str, str] = field(default_factory=dict)


def look(
    url: str | sa.URL,
    queries: Iterable[Query],
    workloads: Iterable[Workload],
    progress: Progress = lambda _: None,
) -> Found:
    """Run each query of the server's engine on each workload of its area in each state, in scratch databases there.

    Raises:
        SelectqError: as ``scratch_database`` and ``explain`` do.
    """
    wanted = list(queries)
    found = Found("")
    for workload in workloads:
        mine = [query for query in wanted if query.name.startswith(f"{workload.area}/")]
        if not mine:
            continue
        progress(f"loading {workload.name}, {workload.rows:,} rows")
        with loaded_states(url, workload) as engines:
            for state, engine in engines.items():
                progress(f"{workload.name}, {state} statistics")
                with engine.connect() as connection:
                    found.server = server_key(connection)
                    of_engine = [query for query in mine if query.dialect == engine.dialect.name]
                    all_rows = counted(connection, workload.area)
                    for query_id, plan in plans(connection, of_engine, workload, found.unexplained):
                        place = Place(query_id, found.server, workload.name, workload.rows, state, all_rows)
                        found.shapes.setdefault(query_id, {})[place.name] = shape_of(plan)
                        found.places[f"{query_id} {place.name}"] = place
    return found


def counted(connection: sa.Connection, area: str) -> dict[str, int]:
    """Rows of the large tables of an area; of task instances only those that wait, if a selection looks for these."""
    found = {}
    with rolled_back(connection, read_only=True):
        for table in tables_of(connection.engine):
            if table.name in LARGE[area]:
                rows = sa.select(sa.func.count()).select_from(table)
                if area == "selection":
                    rows = rows.where(table.c.state == "scheduled")
                found[table.name] = connection.scalar(rows) or 0
    return found


def plans(
    connection: sa.Connection, queries: Iterable[Query], workload: Workload, unexplained: dict[str, str]
) -> Iterator[tuple[str, Plan]]:
    """Query id and plan of those that can be explained on this workload; why the others can't is noted."""
    if calls := workload.calls():
        found = played(connection, queries, calls)
        unexplained.update((query.id, "no workload runs it") for query in queries if query.id not in found)
        yield from found.items()
        return
    with rolled_back(connection, read_only=True):
        selecting = Selecting(connection, {})
    # What changes rows comes last: even rolled back, it leaves pages behind that the planner takes into account.
    for query in sorted(queries, key=lambda query: (query.header["locks"] != "none", query.id)):
        try:
            yield query.id, explain(connection, query, analyze=True, selecting=selecting).plan
        except InvalidParameterError as error:
            unexplained[query.id] = str(error)


def judge(found: Found, catalogue: Catalogue, folder: Path) -> list[Difference]:
    """What the plans that were seen do wrong, by query; what a waiver covers is left out, idle waivers are not.

    Raises:
        SelectqError: a baseline can't be read.
    """
    baselines = Baselines(folder, found.server)
    queries = queries_for(found.server, catalogue)
    left: list[Difference] = []
    for query_id, shapes in found.shapes.items():
        expected = baselines.read(query_id)
        differences = []
        for name, shape in shapes.items():
            place = found.places[f"{query_id} {name}"]
            differences += [*reads_backlog(place, shape), *compare(place, expected.get(name, ()), shape)]
        left += waived_of(queries[query_id], found.server, shapes, expected, differences)
    for query_id in found.unexplained.keys() - found.shapes.keys():
        left.append(Difference(query_id, found.server, "", "baseline", found.unexplained[query_id], frozenset()))
    for path in baselines.strays(set(queries)):
        left.append(Difference("", found.server, "", "baseline", f"{path}: there is no such query", frozenset()))
    return left


def waived_of(
    query: Query,
    server: str,
    shapes: Mapping[str, Shape],
    expected: Mapping[str, Sequence[Shape]],
    differences: list[Difference],
) -> Iterator[Difference]:
    """The differences that the query's waivers do not cover, and the waivers that cover none."""
    left, used = waived(differences, query.plan_waivers)
    yield from left
    known = {*RULES, *STATES}
    for name in shapes.keys() | expected.keys():
        workload, _, state = name.split("/")
        known |= {workload, f"{workload}/{state}"}
    for shape in chain(shapes.values(), *expected.values()):
        known |= {*shape.access, *kinds(shape.steps)}
    for waiver in query.plan_waivers:
        if waiver.subject not in known:
            reason = f"plan-waiver {waiver.subject}: no state, workload, table, step or rule of that name"
        elif waiver.subject not in used:
            reason = f"plan-waiver {waiver.subject}: not needed"
        else:
            continue
        yield Difference(query.id, server, "", "waiver", reason, frozenset())


def update(found: Found, catalogue: Catalogue, folder: Path, add: bool = False) -> list[Path]:
    """Write what was seen as the baselines, or ``add`` it to them; the files that changed or went."""
    baselines = Baselines(folder, found.server)
    changed = [baselines.path(name) for name, shapes in found.shapes.items() if baselines.write(name, shapes, add)]
    for path in baselines.strays(set(queries_for(found.server, catalogue))):
        path.unlink()
        changed.append(path)
    return changed


def queries_for(server: str, catalogue: Catalogue) -> dict[str, Query]:
    """By id."""
    return {query.id: query for query in catalogue if query.dialect == server.partition("-")[0]}
