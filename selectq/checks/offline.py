"""Every check that needs no server, over all files of a folder tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from sqlglot import exp

from selectq.catalogue import Query, query_paths, read_query
from selectq.checks.drift import check_drift
from selectq.checks.engines import check_engines
from selectq.checks.finding import Finding
from selectq.checks.header import check_header
from selectq.checks.hints import check_hints
from selectq.checks.locks import check_locks
from selectq.checks.outputs import check_outputs
from selectq.checks.parameters import check_parameters
from selectq.checks.parsing import UnparsableError, parse
from selectq.checks.relations import check_relations
from selectq.checks.released import LOCK_FILE, check_released
from selectq.checks.windows import check_windows
from selectq.errors import QueryFileError

TREE_CHECKS: tuple[Callable[[Query, exp.Expr], Iterator[str]], ...] = (
    check_parameters,
    check_relations,
    check_outputs,
    check_locks,
    check_windows,
    check_hints,
)
NO_QUERIES = {LOCK_FILE, "CATALOGUE.md"}


def check_files(root: Path) -> list[Finding]:
    """All findings about the files below ``root``, by file. A file that can't be read does not hide the others."""
    queries, findings = readable(root)
    for query in queries:
        findings += [Finding(query.file, problem) for problem in check_query(query)]
    findings += check_engines(queries)
    findings += check_strays(root)
    findings += check_drift(root)
    findings += check_released(root)
    return sorted(set(findings))


def readable(root: Path) -> tuple[list[Query], list[Finding]]:
    """The queries that the catalogue can read, and why it can't read the others."""
    queries, findings = [], []
    for path in query_paths(root):
        try:
            queries.append(read_query(path, root))
        except QueryFileError as error:
            file, _, problem = str(error).partition(": ")
            findings.append(Finding(file, problem))
    return queries, findings


def check_query(query: Query) -> Iterator[str]:
    """Problems of one file by itself."""
    yield from check_header(query)
    try:
        tree = parse(query)
    except UnparsableError as error:
        yield str(error)
        return
    for check in TREE_CHECKS:
        yield from check(query, tree)


def check_strays(root: Path) -> Iterator[Finding]:
    """Files that the catalogue would pass over in silence."""
    known = set(query_paths(root))
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.is_file() and path not in known and name not in NO_QUERIES:
            yield Finding(name, "not a query file: expected <dialect>/<area>/<query>.v<N>.sql")
