"""What the check of plans needs from a clone of the project and an installed package has not got."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from selectq.errors import InvalidParameterError, SourceTreeError
from selectq.plans.states import Workload

HOME = Path(__file__).resolve().parents[2] / "benchmarks"
BASELINES = HOME / "plans"


def workloads(rows: int) -> dict[str, Workload]:
    """The workloads that plans are checked on, by name.

    Raises:
        SourceTreeError: this is an installed package.
        InvalidParameterError: the workloads do not come in that size.
    """
    if not HOME.is_dir():
        raise SourceTreeError(
            "plans are checked with the workloads and baselines in benchmarks/ of the project: run this in a clone of "
            "it, installed with pip install -e"
        )
    makers: Sequence[Callable[..., Workload]] = import_module("benchmarks.plan_workloads").WORKLOADS
    try:
        made = [maker(rows=rows) for maker in makers]
    except ValueError as error:
        raise InvalidParameterError("rows", str(error)) from None
    return {workload.name: workload for workload in made}
