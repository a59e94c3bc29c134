"""Generated files are what their generator writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from selectq.catalogue import Catalogue, query_paths
from selectq.checks.finding import Finding
from selectq.errors import QueryFileError
from selectq.generate import generated_files
from selectq.generate.catalogue_page import catalogue_page
from selectq.generate.write import PAGE, content

MARK = b"\n-- origin: generated: "
STALE = "is not what its generator makes; run 'selectq sql generate'"


def check_drift(root: Path) -> Iterator[Finding]:
    """Generated files are byte for byte what the generators make, and no others are marked as generated."""
    generated = {root / path: text for path, text in generated_files()}
    for path, text in generated.items():
        if content(path) != text.encode():
            yield Finding(path.relative_to(root).as_posix(), STALE)
    for path in query_paths(root):
        if path not in generated and MARK in path.read_bytes():
            yield Finding(path.relative_to(root).as_posix(), "is marked as generated, but nothing generates it")
    try:
        page = catalogue_page(Catalogue.load(root))
    except QueryFileError:
        return  # There is no page of files that can't be read, which is a finding of its own.
    if content(root / PAGE) != page.encode():
        yield Finding(PAGE.name, STALE)
