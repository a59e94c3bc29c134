"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rich_click as click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def db_option(required: bool = False, otherwise: str = "an embedded Postgres, started for this command") -> Decorator:
    """``--db URL``, also read from SELECTQ_DB; the parameter is ``db: str | None``.

    Args:
        required: refuse to run without it.
        otherwise: what is used without it, for the help text; of no meaning if required.
    """
    text = "A PostgreSQL or MySQL server: postgresql://user:password@host:port/name or mysql://..."
    return click.option(
        "--db",
        metavar="URL",
        envvar="SELECTQ_DB",
        show_envvar=True,
        required=required,
        help=text if required else f"{text} Without it: {otherwise}.",
    )


def json_option(lines: str = "") -> Decorator:
    """``--json``; the parameter is ``as_json: bool``. ``lines`` says what one line holds, such as "one per file"."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print JSON, {lines or 'one object a line'}.")


def param_option() -> Decorator:
    """``--param NAME=VALUE``, repeatable; the parameter is ``given: tuple[str, ...]``."""
    return click.option(
        "--param",
        "given",
        metavar="NAME=VALUE",
        multiple=True,
        help="Value of a parameter, by its declared type; NAME alone is NULL. Repeatable.",
    )
