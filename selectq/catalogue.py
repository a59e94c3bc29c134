"""The query files under ``sql/`` as ``Query`` objects: header, parameters, columns, version, digest."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from selectq.errors import QueryFileError, QueryNotFoundError

ROOT = Path(__file__).parent / "sql"
DIALECTS = ("postgresql", "mysql")
TYPES = ("text", "integer", "boolean", "timestamp", "uuid", "json")
RESULTS = ("rows", "row", "count")
REQUIRED = ("name", "version", "purpose", "result", "locks", "isolation", "limits", "server", "origin")
OPTIONAL = ("engine", "waiver")
FILE_NAME = re.compile(r"(?P<name>[a-z][a-z0-9_]*)\.v(?P<version>[1-9][0-9]*)\.sql")
PLAN_WAIVER = "plan-waiver"
HEADER_LINE = re.compile(r"-- (?P<key>[a-z-]+)(?: (?P<subject>[a-z_]+))?: (?P<value>.+)")
PARAMETER_OR_OPAQUE = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"[^"]*"|`[^`]*`|(?<![:\w]):(?P<parameter>[a-z][a-z0-9_]*)\b""", re.DOTALL
)
"""A parameter, or text that hides what looks like one: a comment, quoted text, a quoted name."""


@dataclass(frozen=True)
class Field:
    """A parameter or a result column. ``type`` is one of text, integer, boolean, timestamp (UTC), uuid, json."""

    name: str
    type: str
    description: str


@dataclass(frozen=True)
class PlanWaiver:
    """What ``selectq explain --check`` may find about a query: ``subject`` is a state, step, table or rule."""

    subject: str
    reason: str


@dataclass(frozen=True)
class Query:
    """One version of one query for one engine.

    ``result`` is ``rows``, ``row`` (exactly one) or ``count`` (affected rows); ``sql`` is the statement without its
    header, with ``:name`` parameters; ``digest`` is the SHA-256 of the whole file, in hex.
    """

    dialect: str
    name: str
    version: int
    path: Path
    digest: str
    sql: str
    header: Mapping[str, str]
    parameters: tuple[Field, ...]
    columns: tuple[Field, ...]
    plan_waivers: tuple[PlanWaiver, ...] = ()

    @property
    def result(self) -> str:
        return re.split(r"[,; ]", self.header["result"], maxsplit=1)[0]

    @property
    def purpose(self) -> str:
        return self.header["purpose"]

    @property
    def id(self) -> str:
        """``<area>/<query>.v<N>``, unique within an engine."""
        return f"{self.name}.v{self.version}"

    @property
    def file(self) -> str:
        """Path below the root."""
        return f"{self.dialect}/{self.id}.sql"

    @property
    def parameter_names(self) -> frozenset[str]:
        return frozenset(field.name for field in self.parameters)


class Catalogue:
    """All query files of one folder tree ``<dialect>/<area>/<query>.v<N>.sql``."""

    def __init__(self, queries: Iterable[Query]) -> None:
        self._queries = {(query.dialect, query.name, query.version): query for query in queries}

    @classmethod
    def load(cls, root: Path = ROOT) -> Catalogue:
        """Read every file below ``root``.

        Raises:
            QueryFileError: a file breaks a rule; the message names the file and the rule.
        """
        return cls(read_query(path, root) for path in query_paths(root))

    def __iter__(self) -> Iterator[Query]:
        return iter(self._queries.values())

    def get(self, name: str, dialect: str, version: int | None = None) -> Query:
        """The query of that name; its highest version unless one is asked for.

        Raises:
            QueryNotFoundError: no such name, version or engine; the message lists what there is.
        """
        versions = [number for kind, known, number in self._queries if (kind, known) == (dialect, name)]
        if not versions:
            known = ", ".join(sorted({known for kind, known, _ in self._queries if kind == dialect})) or "none"
            raise QueryNotFoundError(f"no query {name!r} for {dialect}; there are: {known}")
        wanted = max(versions) if version is None else version
        if wanted not in versions:
            known = ", ".join(map(str, sorted(versions)))
            raise QueryNotFoundError(f"no version {wanted} of {name!r} for {dialect}; there are: {known}")
        return self._queries[dialect, name, wanted]


@functools.cache
def default_catalogue() -> Catalogue:
    """The catalogue that ships with the package, read once."""
    return Catalogue.load()


def query_paths(root: Path) -> Iterator[Path]:
    """The query files below ``root``, PostgreSQL's first, each engine's by name."""
    for dialect in DIALECTS:
        yield from sorted((root / dialect).rglob("*.sql"))


def read_query(path: Path, root: Path) -> Query:
    """Parse one file.

    Raises:
        QueryFileError: see ``Catalogue.load``.
    """
    relative = path.relative_to(root)

    def wrong(problem: str) -> QueryFileError:
        return QueryFileError(f"{relative}: {problem}")

    if len(relative.parts) != 3 or not (named := FILE_NAME.fullmatch(relative.name)):
        raise wrong("expected <dialect>/<area>/<query>.v<N>.sql")
    content = path.read_bytes()
    try:
        comment, statement = split_header(content.decode())
    except UnicodeDecodeError as error:
        raise wrong(f"not UTF-8 at byte {error.start}") from None
    header: dict[str, str] = {}
    fields: dict[str, list[Field]] = {"param": [], "column": []}
    plan_waivers: dict[str, PlanWaiver] = {}
    for line in comment:
        match = HEADER_LINE.fullmatch(line)
        if not match:
            raise wrong(f"header line {line!r} is not '-- key: value' or '-- param name: type; description'")
        key, subject, value = match["key"], match["subject"], match["value"]
        if key in fields and subject:
            kind, _, description = value.partition(";")
            if kind.strip() not in TYPES:
                raise wrong(f"{key} {subject}: type {kind.strip()!r} is none of {', '.join(TYPES)}")
            if subject in (field.name for field in fields[key]):
                raise wrong(f"{key} {subject}: declared twice")
            fields[key].append(Field(subject, kind.strip(), description.strip()))
        elif key == PLAN_WAIVER and not subject:
            waived, colon, reason = (part.strip() for part in value.partition(": "))
            if not (waived and colon and reason):
                raise wrong(f"header line {line!r} is not '-- {PLAN_WAIVER}: state, step, table or rule: reason'")
            if waived in plan_waivers:
                raise wrong(f"{PLAN_WAIVER} {waived}: declared twice")
            plan_waivers[waived] = PlanWaiver(waived, reason)
        elif key in REQUIRED + OPTIONAL and not subject and key not in header:
            header[key] = value
        else:
            raise wrong(f"header line {line!r}: unknown or repeated key")
    if missing := [key for key in REQUIRED if key not in header]:
        raise wrong(f"header lacks {', '.join(missing)}")
    name = f"{relative.parts[1]}/{named['name']}"
    if (header["name"], header["version"]) != (name, named["version"]):
        said = f"{header['name']} version {header['version']}"
        raise wrong(f"header says {said}, the path says {name} version {named['version']}")
    query = Query(
        dialect=relative.parts[0],
        name=name,
        version=int(named["version"]),
        path=path,
        digest=hashlib.sha256(content).hexdigest(),
        sql=statement,
        header=header,
        parameters=tuple(fields["param"]),
        columns=tuple(fields["column"]),
        plan_waivers=tuple(plan_waivers.values()),
    )
    if query.result not in RESULTS:
        raise wrong(f"result: {header['result']!r} does not begin with one of {', '.join(RESULTS)}")
    if (query.result == "count") == bool(query.columns):
        raise wrong("a query has either columns or the result 'count'")
    if (used := used_parameters(statement)) != query.parameter_names:
        difference = ", ".join(sorted(used ^ query.parameter_names))
        raise wrong(f"parameters declared and parameters used differ: {difference}")
    return query


def split_header(text: str) -> tuple[list[str], str]:
    """The comment lines that open a file, continuation lines joined to the line before, and the statement."""
    lines = text.splitlines()
    end = next((number for number, line in enumerate(lines) if not line.startswith("--")), len(lines))
    header: list[str] = []
    for line in lines[:end]:
        if line.startswith("--   ") and header:
            header[-1] += " " + line[2:].strip()
        else:
            header.append(line.rstrip())
    return header, "\n".join(lines[end:]).strip() + "\n"


def used_parameters(statement: str) -> frozenset[str]:
    """Names of the ``:name`` parameters outside comments and quoted text."""
    found = (match["parameter"] for match in PARAMETER_OR_OPAQUE.finditer(statement))
    return frozenset(name for name in found if name)


def replace_parameters(statement: str, replacement: Callable[[str], str]) -> str:
    """The statement with ``replacement(name)`` in place of each ``:name`` outside comments and quoted text."""
    return PARAMETER_OR_OPAQUE.sub(
        lambda match: replacement(match["parameter"]) if match["parameter"] else match[0], statement
    )
