"""Runs the commands of a document in a copy of the checkout, against a test server."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from tests.docs.markdown import ROOT

PLACEHOLDER = re.compile(r"(?:postgresql|mysql)://\w+:\w+@localhost/\w*")
"""How the documents write the URL of the reader's database; the test server's takes its place."""

CLIENTS = Path(__file__).parent / "clients"
HIDDEN = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "dist", "build")

# Nothing of the developer's own settings: servers, colours, a width of terminal, options for pytest and make.
FOREIGN = ("SELECTQ_", "PYTEST_", "MAKE", "MFLAGS", "FORCE_COLOR", "CLICOLOR", "TTY_COMPATIBLE", "COV_")


class CommandFailedError(AssertionError):
    """A command of a document ended with an error; the message holds what it printed."""


def copied_checkout(folder: Path) -> Path:
    """A copy of the project without its history; its ``.venv`` is the environment that runs the tests."""
    copy = folder / "selectq"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=HIDDEN)
    (copy / ".venv").symlink_to(sys.prefix)
    return copy


def lines_of(block: str) -> Iterator[str]:
    """Commands of a block without their comments: a line each, or several that end in a backslash."""
    for line in re.sub(r"\\\n\s*", "", block).splitlines():
        if command := re.sub(r"(^|\s+)#\s.*", "", line).strip():
            yield command


class Commands:
    """One reader's shell: what a line exports stays for the lines after it."""

    def __init__(self, folder: Path, url: str, fewer_passes: bool = False) -> None:
        self._folder = folder
        self._url = url
        self._fewer_passes = fewer_passes
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)},
            "PATH": os.pathsep.join([str(CLIENTS), sysconfig.get_path("scripts"), os.environ["PATH"]]),
            # The copy's queries and commands, not those of the folder that it was made of.
            "PYTHONPATH": str(folder),
            "COLUMNS": "100",
            "DOCS_URL": url,
            "DOCS_PYTHON": sys.executable,
        }

    def with_url(self, text: str) -> str:
        return PLACEHOLDER.sub(lambda _: self._url, text)

    def run(self, line: str) -> str:
        """Run one command for real and return what it printed on stdout; some only as far as a test may.

        ``make`` says what it would do, and what ``make demo`` and ``make pytest`` would run is run or collected;
        ``pip install`` is a dry run. A demo and a replay get the test server where the reader's embedded one would do.
        """
        words = shlex.split(line)
        if words[0] == "export":
            name, _, value = self.with_url(words[1]).partition("=")
            self._environment[name] = value
            return ""
        if words[0] == "make":
            return self._make(line, words[1:])
        if words[0] == "pip":
            check_extras(words[-1])
            dry = "--dry-run --no-deps --no-index --no-build-isolation --disable-pip-version-check"
            return self._shell(f"python -m {line} {dry}")
        if words[:2] in (["selectq", "demo"], ["selectq", "replay"]):
            line = f"SELECTQ_DB={shlex.quote(self._url)} {line}"
            if self._fewer_passes and words[1] == "demo":
                line += " --passes 3"
        return self._shell(self.with_url(line))

    def _make(self, line: str, words: list[str]) -> str:
        planned = self._shell(line.replace("make", "make -n", 1))
        assert planned.strip(), f"{line}: nothing to do"
        given = dict(word.split("=", 1) for word in words if "=" in word)
        arguments = given.get("ARGS", "")
        if "demo" in words:
            return self.run(f"selectq demo {arguments}")
        if "pytest" in words and arguments:
            # Ends with an error if the arguments name no test.
            self._shell(f"python -m pytest --collect-only -q {arguments}")
        return ""

    def _shell(self, line: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CommandFailedError(f"{line}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def check_extras(requirement: str) -> None:
    """pip only warns of an extra that does not exist."""
    known = importlib.metadata.metadata("selectq").get_all("Provides-Extra") or []
    for wanted in re.findall(r"\[(.*)\]", requirement):
        assert set(wanted.split(",")) <= set(known), f"{requirement}: there are the extras {known}"
