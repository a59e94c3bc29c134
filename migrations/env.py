"""Run migrations on the connection that selectq.migrate hands over, or print them when it hands over a dialect only.

There is no alembic.ini: everything comes in by ``config.attributes``. ``connection`` is a Connection, in whose
transaction the migrations run if one is open, or an Engine; ``dialect`` is for printing; ``to_base`` says that nothing
of selectq shall be left.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import context

from selectq.revisions import VERSION_TABLE
from selectq.schema import build_metadata


def configure(dialect: str, **options: Any) -> None:
    target = build_metadata(dialect)

    def ours_only(name: str | None, type_: str, parents: object) -> bool:
        """Autogenerate must not propose to drop the tables of other projects in the same database."""
        return type_ != "table" or name in target.tables

    context.configure(
        target_metadata=target,
        version_table=VERSION_TABLE,
        include_name=ours_only,
        compare_type=True,
        # Alembic takes MySQL's '0' for another default than false; the tests compare what the server prints instead.
        compare_server_default=dialect == "postgresql",
        **options,
    )


def run() -> None:
    with context.begin_transaction():
        context.run_migrations()
        if context.config.attributes.get("to_base"):
            context.get_context().impl.drop_table(sa.Table(VERSION_TABLE, sa.MetaData()))


def run_online(connection: sa.Connection) -> None:
    configure(connection.dialect.name, connection=connection)
    run()


def run_offline(dialect: str) -> None:
    # "named" keeps drivers that mark parameters with % from doubling every % in the printed SQL.
    configure(dialect, dialect_name=dialect, dialect_opts={"paramstyle": "named"}, literal_binds=True)
    run()


attributes = context.config.attributes
if context.is_offline_mode():
    run_offline(attributes["dialect"])
elif isinstance(attributes["connection"], sa.Engine):
    with attributes["connection"].connect() as opened:
        run_online(opened)
else:
    run_online(attributes["connection"])
