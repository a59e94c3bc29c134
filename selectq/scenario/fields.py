"""Reading values out of parsed YAML: each reader knows where it stands, and says what it expected and what it found."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from selectq.errors import ScenarioError

LOWEST_INTEGER = -(2**31)
HIGHEST_INTEGER = 2**31 - 1
SHOWN_LENGTH = 60
EARLIEST_YEAR = 1000

Reader = Callable[["Place", Any], Any]
"""Takes a place and the value found there; returns what the scenario keeps, or raises ``ScenarioError``."""


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere in a scenario file, such as ``task_instances[3].pool_slots``."""

    file: str
    path: str = ""

    def field(self, name: str) -> Place:
        return Place(self.file, f"{self.path}.{name}" if self.path else name)

    def item(self, index: int) -> Place:
        return Place(self.file, f"{self.path}[{index}]")

    def wrong(self, expected: str, found: str) -> ScenarioError:
        """The error for this place; both texts are parts of a sentence."""
        where = f"{self.file}: {self.path}" if self.path else self.file
        return ScenarioError(f"{where}: expected {expected}, found {found}")


class Required:
    """Marks a field that has no default."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a mapping: how to read it, and what it is when left out."""

    read: Reader
    default: Any = Required


def describe(value: object) -> str:
    """A value in words; never its whole content, which aliases can make endless."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the truth value {str(value).lower()}"
    if isinstance(value, int):
        # Python refuses to print a number of many thousand digits.
        return f"the number {value}" if value.bit_length() < 200 else "a number of very many digits"
    if isinstance(value, float):
        return f"the number {value!r}"
    if isinstance(value, str):
        return f"the text {shorten(value)}"
    if isinstance(value, date):
        return f"the date {value.isoformat()}"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    return f"a value of type {type(value).__name__}"


def shorten(text: str) -> str:
    return repr(text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}...")


def text(longest: int | None = None, shortest: int = 1) -> Reader:
    """Text that both engines can store; ``longest`` is in characters."""
    limit = "" if longest is None else f" of {shortest} to {longest} characters"

    def read(place: Place, value: object) -> str:
        if not isinstance(value, str):
            # A bare 2026-01-01, 12 or yes is no text in YAML.
            hint = "" if value is None or isinstance(value, (list, dict)) else " (put it in quotes)"
            raise place.wrong(f"text{limit}", describe(value) + hint)
        if longest is not None and not shortest <= len(value) <= longest:
            raise place.wrong(f"text{limit}", f"{len(value)} characters")
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise place.wrong("text that can be stored as UTF-8", f"the text {shorten(value)}")
        return value

    return read


def integer(lowest: int = LOWEST_INTEGER, highest: int = HIGHEST_INTEGER) -> Reader:
    def read(place: Place, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
            raise place.wrong(f"a whole number from {lowest} to {highest}", describe(value))
        return value

    return read


def number(lowest: float, highest: float) -> Reader:
    """A number, whole or not; as a float."""

    def read(place: Place, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not lowest <= value <= highest:
            raise place.wrong(f"a number from {lowest:,} to {highest:,}", describe(value))
        return float(value)

    return read


def boolean(place: Place, value: object) -> bool:
    if not isinstance(value, bool):
        raise place.wrong("true or false", describe(value))
    return value


def one_of(*choices: str) -> Reader:
    def read(place: Place, value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            hint = closest(value, choices)
            raise place.wrong(f"one of {', '.join(choices)}", describe(value) + hint)
        return value

    return read


def nullable(reader: Reader) -> Reader:
    def read(place: Place, value: object) -> Any:
        return None if value is None else reader(place, value)

    return read


def point_in_time(place: Place, value: object) -> datetime:
    """A YAML timestamp or ISO text, as UTC; without a time zone it is UTC already, a bare date is its midnight."""
    expected = f"a date and time between the years {EARLIEST_YEAR} and 9999, such as 2026-01-31T08:00:00Z"
    found = value
    if isinstance(found, str):
        try:
            found = datetime.fromisoformat(found)
        except ValueError:
            raise place.wrong(expected, describe(value)) from None
    if isinstance(found, date) and not isinstance(found, datetime):
        found = datetime(found.year, found.month, found.day, tzinfo=UTC)
    if not isinstance(found, datetime):
        raise place.wrong(expected, describe(value))
    try:
        moment = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except OverflowError:
        raise place.wrong(expected, describe(value)) from None
    if moment.year < EARLIEST_YEAR:
        raise place.wrong(expected, describe(value))
    return moment


def list_of(reader: Reader) -> Reader:
    def read(place: Place, value: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise place.wrong("a list", describe(value))
        return tuple(reader(place.item(index), item) for index, item in enumerate(value))

    return read


def distinct(reader: Reader, identity: Callable[[Any], object] = lambda item: item) -> Reader:
    """A list whose items differ in what ``identity`` gives for them."""
    read_list = list_of(reader)

    def read(place: Place, value: object) -> tuple[Any, ...]:
        items: tuple[Any, ...] = read_list(place, value)
        first: dict[object, int] = {}
        for index, item in enumerate(items):
            earlier = first.setdefault(identity(item), index)
            if earlier != index:
                raise place.item(index).wrong("an entry unlike those before it", f"{place.path}[{earlier}] again")
        return items

    return read


def mapping(fields: Mapping[str, Field], make: Callable[..., Any] = dict) -> Reader:
    """A mapping with these fields and no others, handed to ``make``; left-out ones get their defaults."""
    known = ", ".join(fields)

    def read(place: Place, value: object) -> Any:
        if not isinstance(value, dict):
            raise place.wrong(f"a mapping with the fields {known}", describe(value))
        for name in value:
            if not isinstance(name, str) or name not in fields:
                raise place.wrong(f"the fields {known}", f"the unknown field {describe(name)}{closest(name, fields)}")
        result = {}
        for name, field in fields.items():
            if name in value:
                result[name] = field.read(place.field(name), value[name])
            elif field.default is Required:
                raise place.field(name).wrong("this field", "that it is missing")
            else:
                result[name] = field.default
        return make(**result)

    return read


def closest(value: object, choices: Mapping[str, Any] | tuple[str, ...]) -> str:
    near = difflib.get_close_matches(value[:SHOWN_LENGTH], list(choices), n=1) if isinstance(value, str) else []
    return f" (did you mean {near[0]}?)" if near else ""
