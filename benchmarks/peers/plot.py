"""Task instances started in each of many passes, Airflow's and selectq's, as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.peers.results import PeerResults, Row

# Text stays text, and the same figures give the same file.
SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "selectq", "font.family": "sans-serif", "font.size": 9}


def drawable(results: PeerResults) -> list[Row]:
    """Rows with repeated passes of the workload that has several limits, by size."""
    rows = [row for row in results.rows if row.repeated and row.workload == "mixed"]
    return sorted(rows, key=lambda row: row.scheduled)


def draw(results: PeerResults, file: Path) -> None:
    """A panel for each size: a line for each side."""
    rows = drawable(results)
    file.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(1 + 3.5 * len(rows), 3.5), layout="constrained")
        panels = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
        for panel, row in zip(panels, rows, strict=True):
            assert row.repeated
            for name, passes in (("selectq", row.repeated.selectq), (f"Airflow {row.version}", row.repeated.theirs)):
                panel.plot(range(1, len(passes.started) + 1), passes.started, label=name, linewidth=1.2)
            panel.set_title(f"{row.scheduled:,} scheduled, mixed limits")
            panel.set_xlabel("pass")
            panel.grid(visible=True, linewidth=0.4)
        panels[0].set_ylim(bottom=0)
        panels[0].set_ylabel(f"started, of {rows[0].max_tis}")
        panels[0].legend(frameon=False)
        figure.suptitle(results.server)
        figure.savefig(file, format="svg", metadata={"Date": None})
