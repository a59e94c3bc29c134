"""Checks of what callers pass in: each error names the parameter and the fix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from selectq.errors import InvalidParameterError

POLICIES = ("strict",)
LOCKED_HOLDERS = ("wait", "skip")
LARGEST = 1_000_000
INT32 = 2**31 - 1


def check_count(field: str, value: object, largest: int = LARGEST) -> int:
    """A whole number from 1 to ``largest``."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
        raise InvalidParameterError(field, f"must be a whole number from 1 to {largest}, not {value!r}")
    return value


def check_policy(value: object) -> str:
    if value not in POLICIES:
        raise InvalidParameterError("policy", f"unknown policy {value!r}; expected one of: {', '.join(POLICIES)}")
    return str(value)


def check_locked_holders(value: object) -> str:
    if value not in LOCKED_HOLDERS:
        raise InvalidParameterError("locked_holders", f"expected one of: {', '.join(LOCKED_HOLDERS)}; not {value!r}")
    return str(value)


def check_executor_slots(value: object) -> dict[str, int]:
    """``{executor: free slots}``; None and {} leave every executor unlimited, "" names the default executor."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidParameterError("executor_slots", f"must map executor names to free slots, not {value!r}")
    for name, free in value.items():
        if not isinstance(name, str):
            raise InvalidParameterError("executor_slots", f"an executor name must be text, not {name!r}")
        if isinstance(free, bool) or not isinstance(free, int) or not -INT32 - 1 <= free <= INT32:
            raise InvalidParameterError(
                "executor_slots", f"free slots of {name!r} must be a whole 32-bit number, not {free!r}"
            )
    return dict(value)


def check_text(field: str, value: object, length: int = 250) -> str | None:
    """Text of at most ``length`` characters, or None."""
    if value is not None and (not isinstance(value, str) or len(value) > length or "\0" in value):
        raise InvalidParameterError(field, f"must be text of at most {length} characters, no NUL, not {value!r:.80}")
    return value


def check_map_index(value: object) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not -1 <= value <= INT32):
        raise InvalidParameterError("map_index", f"must be a whole number of at least -1, not {value!r}")
    return value


def check_key(field: str, value: object) -> tuple[str, str, str, int] | None:
    """A key (dag_id, run_id, task_id, map_index), or None."""
    if value is None:
        return None
    if not isinstance(value, tuple) or [type(part) for part in value] != [str, str, str, int]:
        raise InvalidParameterError(field, f"must be a key (dag_id, run_id, task_id, map_index), not {value!r:.80}")
    return value


def check_runs(value: object) -> list[tuple[str, str]]:
    """Keys (dag_id, run_id) of dag runs, each once, in the order given."""
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise InvalidParameterError("runs", f"must be keys (dag_id, run_id), not {value!r:.80}")
    found = list(value)
    for key in found:
        if not isinstance(key, tuple) or [type(part) for part in key] != [str, str]:
            raise InvalidParameterError("runs", f"must be keys (dag_id, run_id), not {key!r:.80}")
        for part in key:
            check_text("runs", part)
    return list(dict.fromkeys(found))


def check_ids(field: str, value: object) -> list[str]:
    """Ids, each once, in the order given."""
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise InvalidParameterError(field, f"must be a collection of ids, not {value!r:.80}")
    found = list(value)
    for name in found:
        if not isinstance(name, str):
            raise InvalidParameterError(field, f"an id must be text, not {name!r:.80}")
        check_text(field, name)
    return list(dict.fromkeys(found))


def check_length(value: object) -> int:
    """How many items something is expanded over."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise InvalidParameterError("length", f"must be a whole number from 0 to {LARGEST}, not {value!r}")
    return value
