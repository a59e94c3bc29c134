"""What was seen, as a table, a sentence and JSON: all from the numbers that were measured."""

from __future__ import annotations

from selectq.demo.play import Outcome
from selectq.demo.stories import Story


def table(story: Story, outcomes: list[Outcome]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: a column for each way of selecting, a row for each number."""
    rows = [["passes", *(f"{outcome.passes:,}" for outcome in outcomes)]]
    for dag_id, pool in story.pools.items():
        rows.append([f"started of {dag_id}, pool {pool}", *(f"{outcome.started[dag_id]:,}" for outcome in outcomes)])
    rows.append(["statements per pass", *(f"{outcome.statements_per_pass:,}" for outcome in outcomes)])
    rows.append(["rows fetched per pass", *(f"{outcome.rows_per_pass:,}" for outcome in outcomes)])
    rows.append([f"first pass that starts {story.starved}", *(_first(outcome) for outcome in outcomes)])
    return ["", *(outcome.method for outcome in outcomes)], rows


def _first(outcome: Outcome) -> str:
    return f"not within {outcome.limit:,}" if outcome.first is None else f"{outcome.first:,}"


def sentence(story: Story, outcomes: list[Outcome]) -> str:
    """What happened to the starved work, in one sentence."""
    clauses = [_clause(story, outcome) for outcome in outcomes]
    return f"Of {story.waiting}, {' and '.join(clauses)}."


def _clause(story: Story, outcome: Outcome) -> str:
    others = sum(count for dag_id, count in outcome.started.items() if dag_id != story.starved)
    if outcome.first is None:
        return f"{outcome.method} started none in {_counted(outcome.passes, 'pass', 'passes')} (and {_others(others)})"
    count = outcome.started[story.starved]
    return f"{outcome.method} started {count:,} in pass {outcome.first:,} (and {_others(others)} by then)"


def _others(count: int) -> str:
    return _counted(count, "other", "others")


def _counted(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"


def summary(story: Story, engine: str, outcomes: list[Outcome]) -> dict[str, object]:
    """The same for programs: one object per story."""
    return {
        "story": story.name,
        "engine": engine,
        "max_tis": story.max_tis,
        "starved": story.starved,
        "runs": [
            {
                "method": outcome.method,
                "passes": outcome.passes,
                "passes_at_most": outcome.limit,
                "started": [
                    {"dag_id": dag_id, "pool": story.pools[dag_id], "count": count}
                    for dag_id, count in outcome.started.items()
                ],
                "statements_per_pass": outcome.statements_per_pass,
                "rows_per_pass": outcome.rows_per_pass,
                "first_pass": outcome.first,
            }
            for outcome in outcomes
        ],
        "seen": sentence(story, outcomes),
    }
