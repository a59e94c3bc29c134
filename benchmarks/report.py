"""The figures as a table, as Markdown in a README, and as JSON."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import conditions
from benchmarks.measure import Measured
from benchmarks.timing import Times
from benchmarks.workloads import Workload
from selectq.errors import SelectqError

START, END = "<!-- bench-quick -->", "<!-- /bench-quick -->"
COMMAND = "make bench-quick"


@dataclass(frozen=True)
class Report:
    """One run on one or more engines; ``servers`` maps each engine to its name and version."""

    workload: Workload
    servers: Mapping[str, str]
    measured: Mapping[str, Measured]
    date: datetime.date
    cores: int

    @classmethod
    def of_now(cls, workload: Workload, servers: Mapping[str, str], measured: Mapping[str, Measured]) -> Report:
        return cls(workload, servers, measured, conditions.today(), conditions.cores())

    @property
    def headings(self) -> list[str]:
        return [f"{self.workload.rows:,} scheduled, {self.workload.runs:,} runs", *self.servers.values()]

    @property
    def rows(self) -> list[list[str]]:
        """A row for each figure, a column for each engine."""
        all_of = [self.measured[engine] for engine in self.servers]
        claimed = "/".join(dict.fromkeys(str(each.claimed) for each in all_of))
        rows = [
            [f"select + claim of {claimed}", *(span(each.whole) for each in all_of)],
            [f"bare UPDATE of the same {claimed} rows", *(span(each.update) for each in all_of)],
            ["ratio of the medians", *(f"{each.ratio:.1f}" for each in all_of)],
            ["select alone", *(span(each.select) for each in all_of)],
            ["statements per pass", *(f"{each.statements:,}" for each in all_of)],
            ["rows fetched per pass", *(f"{each.rows_fetched:,}" for each in all_of)],
            ["rows read by the server, select alone", *(f"{each.reads_of_select:,}" for each in all_of)],
            ["rows read by the server, whole pass", *(f"{each.reads_of_pass:,}" for each in all_of)],
        ]
        if any(each.pages_of_pass is not None for each in all_of):
            rows.append(["pages read by the server, whole pass", *(count(each.pages_of_pass) for each in all_of)])
        return rows

    @property
    def conditions(self) -> str:
        """How and when this was measured, in one line; nothing that names the machine."""
        runs = {len(each.whole.runs) for each in self.measured.values()}
        return (
            f"`{COMMAND}`, {self.date.isoformat()}, {conditions.in_words(self.cores)}: "
            f"medians of {'/'.join(map(str, sorted(runs)))} (lowest to highest), each rolled back."
        )

    def markdown(self) -> str:
        lines = [self.headings, ["---", *("---:" for _ in self.servers)], *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def as_json(self) -> dict[str, object]:
        """All figures; times in milliseconds."""
        return {
            "command": COMMAND,
            **conditions.of_run(self.date, self.cores),
            "workload": {"name": self.workload.name, **asdict(self.workload)},
            "engines": {
                engine: {"server": server, **figures(self.measured[engine])} for engine, server in self.servers.items()
            },
        }


def figures(measured: Measured) -> dict[str, object]:
    medians = {name: getattr(measured, name).median for name in ("whole", "update", "select")}
    return {**asdict(measured), "medians": medians, "ratio": measured.ratio}


def span(times: Times) -> str:
    return f"{times.median:.0f} ms ({min(times.runs):.0f}-{max(times.runs):.0f})"


def count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def update_readme(path: Path, report: Report) -> None:
    """Put the table between the markers of the file.

    Raises:
        SelectqError: the file does not have each marker once, in order.
    """
    text = path.read_text(encoding="utf-8")
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end) or START in rest or END in before + after:
        raise SelectqError(f"{path.name} must have {START} and then {END}, each once")
    table = f"{START}\n{report.markdown()}\n\n{report.conditions}\n{END}"
    path.write_text(before + table + after, encoding="utf-8")
