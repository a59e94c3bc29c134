"""Bring the generated files of ``sql/`` up to date."""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from selectq.catalogue import Catalogue
from selectq.errors import SourceTreeError
from selectq.generate import generated_files
from selectq.generate.catalogue_page import catalogue_page

PAGE = PurePosixPath("CATALOGUE.md")


def outdated(root: Path) -> dict[PurePosixPath, str]:
    """Path below ``root`` -> text that it should have, for each generated file that has another or is missing.

    Raises:
        QueryFileError: a file breaks a rule of the catalogue, so that there is no page to write.
    """
    wanted = dict(generated_files())
    with TemporaryDirectory(prefix="selectq-") as folder:
        # The page describes the tree as it will be.
        future = Path(folder, "sql")
        shutil.copytree(root, future)
        for path, text in wanted.items():
            (future / path).parent.mkdir(parents=True, exist_ok=True)
            (future / path).write_text(text, encoding="utf-8")
        wanted[PAGE] = catalogue_page(Catalogue.load(future))
    return {path: text for path, text in wanted.items() if content(root / path) != text.encode()}


def write(root: Path) -> list[PurePosixPath]:
    """Write what is outdated; the paths written, below ``root``.

    Raises:
        QueryFileError: see ``outdated``.
        SourceTreeError: ``root`` is not in a source tree, or is read-only.
    """
    home = root.resolve()
    if not (home.parent / "pyproject.toml").is_file():
        raise SourceTreeError(
            f"{home} belongs to an installed selectq; run this in a clone of the project, installed with pip install -e"
        )
    if not os.access(home, os.W_OK):
        raise SourceTreeError(f"{home} can't be written to")
    changed = outdated(root)
    for path, text in changed.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return list(changed)


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
