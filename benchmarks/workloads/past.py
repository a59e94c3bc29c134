"""History: finished dag runs with finished task instances, in the same tables as what waits."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bulk import COLUMNS, Words

TASKS_PER_RUN = 100
RUNS_PER_STEP = 500
POOLS = 20
FAILED_ONE_IN = 20


def history(words: Words, rows: int, dags: int) -> Iterator[str]:
    """Statements for ``rows`` finished task instances, in runs of 100, an hour apart, of the dags that are there.

    One in 20 failed, and so did one run in 20.
    """
    runs = rows // TASKS_PER_RUN
    runs_per_dag = -(-runs // dags)
    for start in range(0, runs, RUNS_PER_STEP):
        run = past_runs(words, min(RUNS_PER_STEP, runs - start), start, runs_per_dag)
        yield f"""
            INSERT INTO dag_run (dag_id, run_id, state, logical_date)
            SELECT dag_id, run_id, {state("i")}, date {run}
        """
        yield f"""
            INSERT INTO task_instance ({COLUMNS})
            SELECT
                r.dag_id, r.run_id, {words.name("task_", "t.i")}, -1, {state("(r.i + t.i)")}, r.date,
                {words.name("pool_", f"t.i % {POOLS}")}, 1, 1
            FROM (SELECT i, dag_id, run_id, date {run}) AS r
            CROSS JOIN {words.numbers(TASKS_PER_RUN)} AS t
        """


def past_runs(words: Words, count: int, start: int, runs_per_dag: int) -> str:
    """FROM clause with a row for each run: its number, key and logical date."""
    ago = f"-60 * (1 + i % {runs_per_dag})"
    return f"""
        FROM (
            SELECT
                i, {words.name("dag_", words.quotient("i", runs_per_dag))} AS dag_id,
                {words.name("past_", f"i % {runs_per_dag}")} AS run_id, {words.minutes_later(ago)} AS date
            FROM {words.numbers(count, start)} AS n
        ) AS past
    """


def state(number: str) -> str:
    return f"CASE WHEN {number} % {FAILED_ONE_IN} = 0 THEN 'failed' ELSE 'success' END"
