"""Exceptions of selectq. All derive from ``SelectqError``; each message names the field and the fix."""

from __future__ import annotations

from typing import Any


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
    """No connection to the database could be made, or it was lost; nothing was committed."""


class CommitUnknownError(DatabaseUnreachableError):
    """The connection was lost during a commit, and the database could not be asked whether the commit arrived.

    ``result`` is what the transaction would have given: either all that it tells of is committed, or nothing. What was
    claimed in it is queued under its claim tokens. ``committed`` is what was claimed for certain earlier in the call.
    """

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result
        self.committed: Any = []


class DatabaseReadOnlyError(SelectqError):
    """The server takes no writes, as a standby or a primary under failover; nothing was committed."""


class StatementCancelledError(SelectqError):
    """An administrator, or a time limit of the server, ended a statement; nothing was committed, nothing repeated."""


class SchemaVersionError(SelectqError):
    """Tables are missing, or the schema is older, newer or of another owner than this selectq expects."""


class QueryNotFoundError(SelectqError, LookupError):
    """The catalogue has no query of that name, version or engine."""


class QueryFileError(SelectqError):
    """A query file breaks the rules of the catalogue: header, parameters, name or digest."""


class RetriesExhaustedError(SelectqError):
    """A transaction met deadlocks, serialisation failures or lock timeouts too often; nothing of it was committed."""


class ScenarioError(SelectqError):
    """A scenario file is wrong; the message names the file, the field and what was expected."""


class MigrationFailedError(SelectqError):
    """The database refused a step of a migration; the message says what is left behind and what to do."""


class SourceTreeError(SelectqError):
    """The command writes files of the project, and this selectq is not installed from a folder of them."""
