"""Tasks with a limit of their own, in an index: selection asks for each row whether its task has one.

Frozen history: never import selectq here, and never change this file once it is released. It says what
``selectq.schema`` said at that time; a test holds the two against each other while this is the newest revision.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0_1_0_04"
down_revision = "v0_1_0_03"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_context().dialect.name == "mysql":
        return  # It has no partial indexes.
    op.create_index(
        op.f("ix_task_limited"),
        "task",
        ["dag_id", "task_id"],
        unique=True,
        postgresql_where=sa.text("max_active_tis_per_dag IS NOT NULL OR max_active_tis_per_dagrun IS NOT NULL"),
    )


def downgrade() -> None:
    if op.get_context().dialect.name != "mysql":
        op.drop_index(op.f("ix_task_limited"), table_name="task")
