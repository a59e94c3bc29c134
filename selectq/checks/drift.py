"""Generated files are what their generator writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from selectq.catalogue import query_paths
from selectq.checks.finding import Finding
from selectq.generate import generated_files

MARK = "\n-- origin: generated: "


def check_drift(root: Path) -> Iterator[Finding]:
    """A file marked as generated is byte for byte what the generator makes, and the generator's files are so marked."""
    texts = {path.as_posix(): text for path, text in generated_files()}
    for path in query_paths(root):
        file = path.relative_to(root).as_posix()
        content = path.read_bytes()
        if file in texts and content != texts[file].encode():
            yield Finding(file, "is not what its generator makes; run 'selectq sql generate'")
        if file not in texts and MARK.encode() in content:
            yield Finding(file, "is marked as generated, but nothing generates it")
