"""A peer in an environment of its own, asked over a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from selectq.errors import SelectqError

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / ".peers"
INSIDE = Path(__file__).parent / "inside"
MAKE_ENVIRONMENT = Path(__file__).parent / "environment.sh"
LAST_LINES = 15
"""Of what a peer printed, shown when it fails."""


class PeerError(SelectqError):
    """A peer can't be installed, failed, or went away."""


def make_environment(name: str) -> Path:
    """Install what ``requirements/<name>.txt`` pins, unless it is there already; its Python.

    Raises:
        PeerError: it can't be installed; the message says what is missing.
    """
    # Its stdout tells what is going on.
    done = subprocess.run(
        [MAKE_ENVIRONMENT, name], stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise PeerError(f"{name}: {last_lines(done.stderr)}")
    return ENVIRONMENTS / name / "bin" / "python"


def last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-LAST_LINES:])


class Peer:
    """One of the scripts in ``inside/``, running until the end of the ``with`` block."""

    def __init__(self, python: Path, script: str, environment: Mapping[str, str]) -> None:
        self.name = script.removesuffix("_peer.py")
        self._command = [str(python), str(INSIDE / script)]
        self._environment = {**os.environ, **environment}

    def __enter__(self) -> Self:
        self._printed = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            env=self._environment,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        # A peer that went away can't be told to stop.
        self._process.communicate()
        self._printed.close()

    def ask(self, do: str, **arguments: Any) -> Any:
        """What the peer's handler returns, or ``PeerError`` with what it raised and the last that it printed."""
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer = json.loads(line) if line else {"failed": "the process ended"}
        if "failed" in answer:
            self._printed.seek(0)
            raise PeerError(f"{self.name}: {do}: {answer['failed']}\n{last_lines(self._printed.read())}")
        return answer["done"]
