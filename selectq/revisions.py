"""The migrations that ship inside the package: where they are and in which order."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TextIO

from alembic.config import Config
from alembic.script import ScriptDirectory

from selectq.errors import InvalidParameterError

VERSION_TABLE = "selectq_alembic_version"
"""A name of its own, so that selectq can live in one database with other Alembic projects."""


def alembic_config(output: TextIO | None = None, **attributes: object) -> Config:
    """Alembic's configuration for the shipped migrations.

    Args:
        output: where printed SQL goes.
        attributes: for ``migrations/env.py``, which says what they mean.
    """
    config = Config(output_buffer=output)
    folder = Path(__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes.update(attributes)
    return config


@cache
def revisions() -> tuple[str, ...]:
    """All revisions this selectq knows, oldest first."""
    script = ScriptDirectory.from_config(alembic_config())
    return tuple(reversed([step.revision for step in script.walk_revisions()]))


def position(revision: str | None) -> int:
    """How many migrations it takes to get to a revision: 0 for ``base`` and None, all of them for ``head``.

    Raises:
        InvalidParameterError: this selectq does not know the revision.
    """
    known = revisions()
    if revision is None or revision == "base":
        return 0
    if revision == "head":
        return len(known)
    if revision not in known:
        raise InvalidParameterError(
            "revision", f"{revision!r} is unknown; expected head, base or one of: {', '.join(known)}"
        )
    return known.index(revision) + 1
