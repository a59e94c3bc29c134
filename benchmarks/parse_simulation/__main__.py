"""``python -m benchmarks.parse_simulation``: simulate the day under every policy, print the table, draw the plot."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.parse_simulation.day import BUCKET, DAY, FILES, Ages, simulate
from benchmarks.parse_simulation.policies import policies

HEADINGS = (
    "policy, age in seconds",
    "file, worst",
    "median",
    "dag callback, worst",
    "median",
    "SLA callback, worst",
    "median",
)


@click.command()
@click.option("--hours", type=click.IntRange(1, 24), default=24, show_default=True, help="Stop after so many.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw an SVG; needs the extra 'bench'.")
def main(hours: int, plot: Path | None) -> None:
    """Age of files and callbacks over a day, in seconds, as a Markdown table."""
    found: dict[str, Ages] = {}
    click.echo(f"| {' | '.join(HEADINGS)} |\n| --- |{' ---: |' * 6}")
    for name, policy in policies(FILES).items():
        found[name] = simulate(policy, hours * DAY // 24)
        click.echo(f"| {name} | {' | '.join(found[name].row)} |")
    if plot:
        draw(found, plot)


def draw(found: dict[str, Ages], path: Path) -> None:
    """Two panels on a logarithmic scale, over the hours of the day."""
    import matplotlib

    matplotlib.use("svg")
    # The same picture from the same figures: no random ids, no date.
    matplotlib.rcParams["svg.hashsalt"] = "selectq"
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 1, figsize=(9, 7.5), sharex=True)
    for name, ages in found.items():
        hours = [(number + 1) * BUCKET / 3600 for number in range(len(ages.oldest_file))]
        style = "-" if name.startswith("selectq") else "--"
        panels[0].plot(hours, ages.oldest_file, style, label=name, linewidth=1.3)
        panels[1].plot(hours, [max(age, 1) for age in ages.slowest_callback], style, linewidth=1.3)
    for panel, title in zip(panels, ("oldest file, seconds", "slowest dag callback, seconds"), strict=True):
        panel.set_yscale("log")
        panel.set_ylabel(title)
        panel.grid(alpha=0.3)
    panels[1].set_xlabel("hour of the day")
    figure.legend(loc="upper center", ncols=2, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.86))
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.parse_simulation")
