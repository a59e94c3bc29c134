"""The side of a peer: requests come as JSON lines on stdin, answers go as JSON lines to what was stdout.

Only the standard library, since it runs in the environments of the peers.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any


def serve(handlers: dict[str, Callable[..., Any]]) -> None:
    """Answer until stdin ends: ``{"do": name, ...}`` calls the handler with the rest as keyword arguments.

    An answer is ``{"done": result}`` or ``{"failed": message}``. Whatever else is printed goes to stderr.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        handler = handlers[request.pop("do")]
        try:
            answer = {"done": handler(**request)}
        except Exception as error:  # noqa: BLE001 - the other side raises it again
            answer = {"failed": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
