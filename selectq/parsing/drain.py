"""Work the parse queue off: a command for each claimed file, several at a time."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from selectq.errors import InvalidParameterError
from selectq.parsing.queue import ParseQueue
from selectq.parsing.rows import ClaimedFile

LOOK_AGAIN = 1.0
"""Seconds after which a free slot looks for new arrivals."""

ERROR_LENGTH = 10_000
"""Characters of a command's standard error that are kept, the last ones."""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a file; ``seconds`` is what the command took, ``error`` None if it succeeded."""

    bundle: str
    path: str
    lane: str
    parse: bool
    callbacks: int
    seconds: float
    error: str | None
    dag_ids: tuple[str, ...]


class Drain:
    """Iterate over this to do the work; each file that is done comes out, in the order of their ends.

    Args:
        queue: its settings' timeout must be above ``timeout``, for a file is not to be given back while it is read.
        command: program and arguments; the file's path is put behind them.
        folder: where the files are; None = the command gets the path as the queue has it.
        slots: how many at a time.
        timeout: seconds after which a command is killed.

    Raises:
        InvalidParameterError: ``timeout`` is not below the queue's.

    Attributes:
        done: files that are done.
        expected: files that were known to wait, as far as that was counted.
    """

    def __init__(
        self, queue: ParseQueue, command: Sequence[str], folder: Path | None, slots: int, timeout: float
    ) -> None:
        if not 0 < timeout < queue.settings.timeout:
            raise InvalidParameterError(
                "timeout", f"must be above 0 and below the queue's ({queue.settings.timeout:g} seconds)"
            )
        self.queue = queue
        self.command = list(command)
        self.folder = folder
        self.slots = slots
        self.timeout = timeout
        self.done = 0
        self.expected = 0
        self._running: dict[Future[Done], ClaimedFile] = {}
        self._processes: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Done]:
        self.expected = sum(lane.depth for lane in self.queue.metrics().lanes)
        with ThreadPoolExecutor(self.slots) as threads:
            try:
                while self._claim(threads) or self._running:
                    ended, _ = wait(self._running, timeout=LOOK_AGAIN, return_when=FIRST_COMPLETED)
                    for future in ended:
                        yield self._finish(future)
            finally:
                # Interrupted: what is still running must not go on without its claim.
                self._kill_all()

    def _claim(self, threads: ThreadPoolExecutor) -> int:
        free = self.slots - len(self._running)
        if not free:
            return 0
        self.queue.give_back()
        self.expected += self.queue.refill()
        claimed = self.queue.claim(free)
        for file in claimed:
            self._running[threads.submit(self._run, file)] = file
        return len(claimed)

    def _finish(self, future: Future[Done]) -> Done:
        file = self._running.pop(future)
        result = future.result()
        self.queue.finish(file, error=result.error, dag_ids=result.dag_ids, duration=result.seconds)
        self.done += 1
        return result

    def _run(self, file: ClaimedFile) -> Done:
        began = time.monotonic()
        error, output = self._command(file)
        dag_ids = tuple(line.strip() for line in output.splitlines() if line.strip()) if error is None else ()
        seconds = time.monotonic() - began
        return Done(file.bundle, file.path, file.lane, file.parse, len(file.callbacks), seconds, error, dag_ids)

    def _command(self, file: ClaimedFile) -> tuple[str | None, str]:
        """Error and standard output of the command."""
        path = str(self.folder / file.path) if self.folder else file.path
        environment = {**os.environ, "SELECTQ_BUNDLE": file.bundle, "SELECTQ_PARSE": str(int(file.parse))}
        given = "".join(
            json.dumps({"kind": callback.kind, "payload": callback.payload}) + "\n" for callback in file.callbacks
        )
        try:
            process = subprocess.Popen(  # noqa: S603 - running the user's command is what this is for
                [*self.command, path],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            return f"{self.command[0]}: {error.strerror}", ""
        with self._lock:
            self._processes.add(process)
        try:
            output, errors = process.communicate(given, timeout=self.timeout)
        except subprocess.TimeoutExpired:
            kill(process)
            process.communicate()
            return f"took longer than {self.timeout:g} seconds", ""
        finally:
            with self._lock:
                self._processes.discard(process)
        if process.returncode:
            return errors.strip()[-ERROR_LENGTH:] or f"exit code {process.returncode}", ""
        return None, output

    def _kill_all(self) -> None:
        with self._lock:
            for process in self._processes:
                kill(process)


def kill(process: subprocess.Popen[str]) -> None:
    """End the command and all that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()


def processor_name() -> str:
    """Host and process, as the name of who claims."""
    return f"{socket.gethostname()}:{os.getpid()}"[:250]
