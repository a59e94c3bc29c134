"""The project's Markdown files and what is checked in them: headings, links, inline code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

FENCE = re.compile(r"^( *)(`{3,})([^\n`]*)\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]+)(?: \"[^\"]*\")?\)")
HTML_LINK = re.compile(r"\b(?:src|srcset|href)=\"([^\"]+)\"")
INLINE_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def all_files() -> list[Path]:
    """Every Markdown file of the project."""
    folders = [path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return sorted({*ROOT.glob("*.md"), *(path.resolve() for folder in folders for path in folder.rglob("*.md"))})


def documents() -> list[Path]:
    """The files whose blocks are run."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def languages(path: Path) -> list[str]:
    """The language of each fenced block, in order; empty where none is named."""
    return [match[3].strip() for match in FENCE.finditer(path.read_text(encoding="utf-8"))]


def prose(path: Path) -> str:
    """The text without fenced blocks and comments."""
    return re.sub(r"<!--.*?-->", "", FENCE.sub("", path.read_text(encoding="utf-8")), flags=re.DOTALL)


def inline_code(path: Path) -> list[str]:
    return INLINE_CODE.findall(prose(path))


def links(path: Path) -> Iterator[str]:
    text = prose(path)
    yield from HTML_LINK.findall(text)
    yield from LINK.findall(INLINE_CODE.sub("", text))


def anchors(path: Path) -> set[str]:
    """What ``#...`` may name in the file: headings as GitHub turns them into anchors."""
    found: set[str] = set()
    seen: Counter[str] = Counter()
    for heading in HEADING.findall(prose(path)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found
