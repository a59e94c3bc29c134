"""Time of a pass against the backlog, as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from benchmarks.results import Results
from benchmarks.targets import BASE, history_of

# Text stays text, and the same figures give the same file.
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "selectq",
    "font.family": "sans-serif",
    "font.size": 9,
}
MARKERS = "os^vD<>Ph*"


def draw(results: Results, file: Path) -> None:
    """A panel for each length of history: a line per workload, and the bare UPDATE of the uniform one."""
    histories = sorted({point.place.history: point.place for point in results.points}.items())
    file.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(1.5 + 4 * len(histories), 4), layout="constrained")
        panels = figure.subplots(1, len(histories), sharey=True, squeeze=False)[0]
        for panel, (history, place) in zip(panels, histories, strict=True):
            draw_panel(panel, results, history)
            panel.set_title(history_of(place))
        panels[0].set_ylabel(f"select + claim of {results.max_tis}, ms (median)")
        figure.suptitle(results.server)
        lines, names = panels[0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside right center", frameon=False)
        figure.savefig(file, format="svg", metadata={"Date": None})


def draw_panel(panel: Axes, results: Results, history: int) -> None:
    found = {
        (point.place.workload, point.place.rows): point.measured
        for point in results.points
        if point.measured and point.place.history == history
    }
    workloads = list(dict.fromkeys(point.place.workload for point in results.points))
    for number, workload in enumerate(workloads):
        medians = sorted((rows, one.whole.median) for (name, rows), one in found.items() if name == workload)
        panel.plot(*columns(medians), marker=MARKERS[number % len(MARKERS)], markersize=4, label=workload)
    floor = sorted((rows, one.update.median) for (name, rows), one in found.items() if name == BASE)
    panel.plot(*columns(floor), color="gray", linestyle="--", label=f"bare UPDATE ({BASE})")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.xaxis.set_major_formatter(EngFormatter(sep=""))
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter(EngFormatter(sep=""))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.set_xlabel("scheduled task instances")
    panel.grid(visible=True, which="major", linewidth=0.4)


def columns(points: list[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
