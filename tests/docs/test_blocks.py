"""Every command and Python block of the documents runs on both engines, and prints what the document says it prints.

A ``text`` block shows what the block before it printed; ``...`` stands for anything.
"""

from __future__ import annotations

import contextlib
import doctest
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sybil import Document, Example
from sybil.parsers.markdown import CodeBlockParser

from tests.docs.commands import CommandFailedError, Commands, copied_checkout, lines_of
from tests.docs.markdown import ROOT, documents, languages, name

RUN = ("sh", "python")
ENGINES = {"README.md": ("postgresql",), "CONTRIBUTING.md": ("postgresql",), "docs/reference/cli.md": ("mysql",)}
"""Documents for which one engine is enough: they play the demo at length, need none, or repeat what others show."""

QUICKSTART = "docs/quickstart.md"
NEW_VERSION = "docs/howto/release-a-query-version.md"
PARSING = "docs/parsing.md"
GO_ON_FROM = {
    "README.md": (QUICKSTART,),
    "docs/howto/run-several-schedulers.md": (QUICKSTART,),
    "docs/howto/why-is-my-task-not-running.md": (QUICKSTART,),
    "docs/how-fast.md": (QUICKSTART,),
    "docs/trigger-rules.md": (QUICKSTART,),
    "docs/reference/cli.md": (QUICKSTART, NEW_VERSION, PARSING),
}
"""Documents that speak of what others have put into the database or the checkout."""


def runs() -> Iterator[tuple[str, str]]:
    for path in documents():
        if set(languages(path)) & set(RUN):
            for engine_name in ENGINES.get(name(path), ("postgresql", "mysql")):
                yield engine_name, name(path)


class Reader:
    """Does what a document says, block by block."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._printed: str | None = None

    def parsers(self) -> list[CodeBlockParser]:
        evaluators = {"sh": self.sh, "python": self.python, "text": self.text}
        return [CodeBlockParser(language, evaluator) for language, evaluator in evaluators.items()]

    def sh(self, example: Example) -> str | None:
        try:
            self._printed = "".join(self._commands.run(line) for line in lines_of(example.parsed))
        except CommandFailedError as error:
            return str(error)
        return None

    def python(self, example: Example) -> None:
        source = "\n" * example.line + self._commands.with_url(example.parsed)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(source, example.path, "exec"), example.namespace)
        self._printed = printed.getvalue()

    def text(self, example: Example) -> str | None:
        if self._printed is None:
            return "no block before this one printed anything"
        expected = doctest.Example("", "\n".join(line.rstrip() for line in example.parsed.splitlines()))
        printed = "".join(f"{line.rstrip()}\n" for line in self._printed.strip("\n").splitlines())
        self._printed = None
        checker = doctest.OutputChecker()
        if checker.check_output(expected.want, printed, doctest.ELLIPSIS):
            return None
        return checker.output_difference(expected, printed, doctest.ELLIPSIS)


def read(document: str, commands: Commands) -> None:
    parsed = Document.parse(str(ROOT / document), *Reader(commands).parsers())
    try:
        for example in parsed:
            example.evaluate()
    finally:
        for value in parsed.namespace.values():
            if isinstance(value, sa.Engine):
                value.dispose()


@pytest.mark.parametrize(("engine_name", "document"), list(runs()))
def test_blocks_run(document: str, empty_engine_url: str, tmp_path: Path) -> None:
    checkout = copied_checkout(tmp_path)
    for before in GO_ON_FROM.get(document, ()):
        read(before, Commands(checkout, empty_engine_url))
    read(document, Commands(checkout, empty_engine_url, fewer_passes=document != "README.md"))


@pytest.mark.parametrize("path", documents(), ids=name)
def test_no_block_is_left_out(path: Path) -> None:
    assert set(languages(path)) <= {*RUN, "text"}
