"""Links inside the project lead to a file, and to a heading in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, all_files, anchors, links, name


@pytest.mark.parametrize("path", all_files(), ids=name)
def test_links_resolve(path: Path) -> None:
    wrong = [link for link in links(path) if not resolves(path, link)]
    assert wrong == []


def resolves(path: Path, link: str) -> bool:
    if ":" in link:
        return link.startswith("https://")
    place, _, anchor = link.partition("#")
    target = (path.parent / place).resolve() if place else path
    if not target.is_relative_to(ROOT) or not target.exists():
        return False
    return not anchor or (target.suffix == ".md" and anchor in anchors(target))


def test_every_page_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        reached.add(path)
        targets = {(path.parent / link.partition("#")[0]).resolve() for link in links(path) if ":" not in link}
        waiting += [target for target in targets if target.suffix == ".md" and target not in reached]
    assert {name(path) for path in (ROOT / "docs").rglob("*.md")} <= {name(path) for path in reached}
