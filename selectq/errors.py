"""Exceptions of selectq. All derive from ``SelectqError``; each message names the field and the fix."""

from __future__ import annotations


class SelectqError(Exception):
    """Base of every error that selectq raises on purpose."""


class InvalidParameterError(SelectqError, ValueError):
    """A parameter has the wrong type or value. ``field`` is its name."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field


class InvalidDagError(SelectqError, ValueError):
    """A dag can't be defined like this; the message names the dag, the task or group, the field and the fix."""


class UnsupportedDatabaseError(SelectqError):
    """The database is of a kind or version that selectq does not support."""


class DatabaseUnreachableError(SelectqError):
    """No connection to the database could be made."""


class SchemaVersionError(SelectqError):
    """Tables are missing, or the schema is older, newer or of another owner than this selectq expects."""


class QueryNotFoundError(SelectqError, LookupError):
    """The catalogue has no query of that name, version or engine."""


class QueryFileError(SelectqError):
    """A query file breaks the rules of the catalogue: header, parameters, name or digest."""


class RetriesExhaustedError(SelectqError):
    """A transaction met deadlocks or serialisation failures more often than allowed; nothing of it was committed."""


class ScenarioError(SelectqError):
    """A scenario file is wrong; the message names the file, the field and what was expected."""


class MigrationFailedError(SelectqError):
    """The database refused a step of a migration; the message says what is left behind and what to do."""


class SourceTreeError(SelectqError):
    """The command writes files of the project, and this selectq is not installed from a folder of them."""
