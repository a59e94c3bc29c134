"""The rows of a workload as Airflow's: dags by its own code, dag runs and task instances from table to table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from benchmarks.peers.process import Peer
from selectq.plans.statistics import refresh_statistics

BUNDLE = "bench"
ROWS_PER_STEP = 50_000
DAGS_PER_REQUEST = 20
TABLES = ("slot_pool", "dag", "dag_version", "serialized_dag", "dag_run", "task_instance")
CARRIER = '{"__var": {}, "__type": "dict"}'
TASKS = """
    SELECT
        dag_id, task_id, trigger_rule, pool, pool_slots, priority_weight, max_active_tis_per_dag,
        max_active_tis_per_dagrun
    FROM task
    ORDER BY dag_id, task_id
"""
EDGES = "SELECT dag_id, upstream_task_id, downstream_task_id FROM task_edge ORDER BY dag_id, upstream_task_id"
# As many as the longest run of it has.
LENGTHS = """
    SELECT t.dag_id, t.task_id, MAX(ti.map_index) + 1 AS length
    FROM task AS t
    JOIN task_instance AS ti ON ti.dag_id = t.dag_id AND ti.task_id = t.task_id
    WHERE t.is_mapped
    GROUP BY t.dag_id, t.task_id
"""

Say = Callable[[str], None]
"""Called with what is going on."""


@dataclass(frozen=True)
class Words:
    """Expressions that the engines spell differently."""

    dialect: str

    def same_id(self, theirs: str, ours: str) -> str:
        """Whether ids of the two schemas are equal: their columns have other collations than ours."""
        if self.dialect == "mysql":
            return f"{theirs} = CONVERT({ours} USING utf8mb3)"
        return f'{theirs} COLLATE "C" = {ours}'

    def uuid(self, number: str) -> str:
        """Of version 7, ascending with the number, as those of rows that were made one after the other."""
        start = "01990000-0000-7000-8000-"
        if self.dialect == "mysql":
            return f"CONCAT('{start.replace('-', '')}', LPAD(HEX({number}), 12, '0'))"
        return f"CAST(CONCAT('{start}', LPAD(TO_HEX({number}), 12, '0')) AS uuid)"

    @property
    def no_config(self) -> str:
        """An empty dict, pickled."""
        return "X'80047d942e'" if self.dialect == "mysql" else "'\\x80047d942e'"

    def json(self, text: str) -> str:
        return f"CAST('{text.replace(':', chr(92) + ':')}' AS {'JSON' if self.dialect == 'mysql' else 'JSONB'})"


def load(ours: sa.Engine, theirs: sa.Engine, peer: Peer, say: Say) -> None:
    """Copy all that is in ``ours``, selectq's tables, into the migrated and empty tables of Airflow in ``theirs``."""
    words = Words(ours.dialect.name)
    with ours.connect() as connection:
        source = schema(connection)
        dags = list(dags_of(connection))
        sizes = connection.execute(sa.text("SELECT dag_id, COUNT(*) FROM task_instance GROUP BY dag_id")).all()
    for start in range(0, len(dags), DAGS_PER_REQUEST):
        say(f"Airflow: {start:,} of {len(dags):,} dags")
        peer.ask("write_dags", bundle=BUNDLE, dags=dags[start : start + DAGS_PER_REQUEST])
    with theirs.connect() as connection:
        for statement in holders(words, source):
            connection.execute(sa.text(statement))
            connection.commit()
        total = sum(size for _, size in sizes)
        done = 0
        for first, last, size in slices([(dag_id, size) for dag_id, size in sizes]):
            say(f"Airflow: {done:,} of {total:,} task instances")
            parameters = {"first": first, "last": last, "done": done}
            connection.execute(sa.text(task_instances(words, source)), parameters)
            connection.commit()
            done += size
        say(f"Airflow: {done:,} of {total:,} task instances")
    refresh_statistics(theirs, TABLES)


def schema(connection: sa.Connection) -> str:
    """Where its unqualified names are looked up: a database on MySQL."""
    mysql = connection.dialect.name == "mysql"
    name: str = connection.execute(sa.select(sa.func.database() if mysql else sa.func.current_schema())).scalar_one()
    return name


def dags_of(connection: sa.Connection) -> Iterator[dict[str, object]]:
    """Each dag with its tasks, as ``write_dags`` of the peer takes them; a limit that is not set is left out."""
    tasks: dict[str, list[dict[str, object]]] = {}
    upstream: dict[tuple[str, str], list[str]] = {}
    for row in connection.execute(sa.text(EDGES)):
        upstream.setdefault((row.dag_id, row.downstream_task_id), []).append(row.upstream_task_id)
    lengths = {(row.dag_id, row.task_id): row.length for row in connection.execute(sa.text(LENGTHS))}
    for row in connection.execute(sa.text(TASKS)).mappings():
        key = row["dag_id"], row["task_id"]
        values = {**row, "upstream": upstream.get(key), "length": lengths.get(key)}
        del values["dag_id"]
        tasks.setdefault(row["dag_id"], []).append({k: value for k, value in values.items() if value is not None})
    for dag in connection.execute(sa.text("SELECT dag_id, max_active_tasks FROM dag ORDER BY dag_id")).mappings():
        yield {**dag, "tasks": tasks.get(dag["dag_id"], [])}


def slices(sizes: list[tuple[str, int]]) -> Iterator[tuple[str, str, int]]:
    """Ranges of dags, first and last, with about ``ROWS_PER_STEP`` rows, and how many these are."""
    names: list[str] = []
    rows = 0
    for dag_id, size in sorted(sizes):
        names.append(dag_id)
        rows += size
        if rows >= ROWS_PER_STEP:
            yield names[0], names[-1], rows
            names, rows = [], 0
    if names:
        yield names[0], names[-1], rows


def holders(words: Words, source: str) -> Iterator[str]:
    """Pools and dag runs; the dags are there."""
    yield "DELETE FROM slot_pool"
    yield f"""
        INSERT INTO slot_pool (pool, slots, include_deferred)
        SELECT pool, slots, include_deferred FROM {source}.slot_pool
    """
    yield f"""
        INSERT INTO dag_run (
            dag_id, run_id, state, run_type, logical_date, run_after, start_date, queued_at, data_interval_start,
            data_interval_end, clear_number, span_status, conf, context_carrier, created_dag_version_id, bundle_version
        )
        SELECT
            r.dag_id, r.run_id, r.state, r.run_type, r.logical_date, r.logical_date, CURRENT_TIMESTAMP,
            CURRENT_TIMESTAMP, r.logical_date, r.logical_date, 0, 'not_started', {words.json("{}")},
            {words.json(CARRIER)}, v.id, '1'
        FROM {source}.dag_run AS r
        JOIN dag_version AS v ON {words.same_id("v.dag_id", "r.dag_id")}
    """


def task_instances(words: Words, source: str) -> str:
    """Those of dags from ``first`` to ``last``; ``done`` rows are there already."""
    number = ":done + ROW_NUMBER() OVER (ORDER BY ti.dag_id, ti.run_id, ti.task_id, ti.map_index)"
    return f"""
        INSERT INTO task_instance (
            id, dag_id, run_id, task_id, map_index, state, try_number, max_tries, pool, pool_slots, priority_weight,
            hostname, unixname, queue, operator, executor_config, scheduled_dttm, queued_dttm, start_date, updated_at,
            span_status, context_carrier, task_display_name, dag_version_id
        )
        SELECT
            {words.uuid(number)}, ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.state, 1, 0,
            ti.pool, ti.pool_slots, ti.priority_weight, '', 'airflow', 'default', 'EmptyOperator', {words.no_config},
            CURRENT_TIMESTAMP, CASE WHEN ti.state <> 'scheduled' THEN CURRENT_TIMESTAMP END,
            CASE WHEN ti.state IN ('running', 'deferred') THEN CURRENT_TIMESTAMP END, CURRENT_TIMESTAMP,
            'not_started', {words.json(CARRIER)}, ti.task_id, v.id
        FROM {source}.task_instance AS ti
        JOIN dag_version AS v ON {words.same_id("v.dag_id", "ti.dag_id")}
        WHERE ti.dag_id >= :first AND ti.dag_id <= :last
    """
