"""How the command line ends: one line on stderr and an exit code instead of a traceback."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import click
from click.exceptions import Exit

from selectq.errors import SelectqError

FAILED = 2
INTERRUPTED = 130


@contextmanager
def plain_exits() -> Iterator[None]:
    """Turn what may go wrong outside our code into a message and an exit code.

    ``SelectqError`` and a database that went away: ``Error: ...`` and 2. Ctrl-C: 130. SIGTERM and SIGHUP: 128 + their
    number, after everything has been cleaned up. Other exceptions are bugs and keep their traceback.
    """
    try:
        with signals_unwind():
            yield
    except SelectqError as error:
        fail(str(error))
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        raise Exit(INTERRUPTED) from None
    except Exception as error:
        if not lost_database(error):
            raise
        fail(f"database: {getattr(error, 'orig', None) or error}")


def fail(message: str) -> NoReturn:
    """Say why and exit with 2."""
    click.echo(f"Error: {message.strip()}", err=True)
    raise Exit(FAILED) from None


def lost_database(error: Exception) -> bool:
    """Whether this is SQLAlchemy's word for a broken connection or a server that refuses, rather than for wrong SQL."""
    if "sqlalchemy" not in sys.modules:
        return False
    from sqlalchemy import exc

    return isinstance(error, (exc.OperationalError, exc.InterfaceError))


@contextmanager
def signals_unwind() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise SystemExit, so that servers are stopped and scratch schemas dropped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, _leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
