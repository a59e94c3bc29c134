"""The parse queue: dag files, parse requests, the payloads of callbacks, whose turn it is.

Frozen history: never import selectq here, and never change this file once it is released. It says in full what
``selectq.schema_parsing`` said at that time; a test holds the two against each other while this is the newest revision.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql, postgresql

revision = "v0_1_0_02"
down_revision = "v0_1_0_01"
branch_labels = None
depends_on = None

MYSQL_OPTIONS: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_0900_bin",
}


def text(length: int) -> sa.types.TypeEngine[str]:
    """VARCHAR that compares as bytes on both engines."""
    return (
        sa.String(length)
        .with_variant(postgresql.VARCHAR(length, collation="C"), "postgresql")
        .with_variant(mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_0900_bin"), "mysql")
    )


def point_in_time() -> sa.types.TypeEngine[Any]:
    return sa.TIMESTAMP(timezone=True).with_variant(mysql.DATETIME(fsp=6), "mysql")


def json_value() -> sa.types.TypeEngine[Any]:
    return sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def long_text() -> sa.types.TypeEngine[str]:
    return sa.Text().with_variant(mysql.LONGTEXT(), "mysql")


def counter(name: str, comment: str | None = None) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0", autoincrement=False, comment=comment)


def upgrade() -> None:
    create_files()
    create_requests()
    create_payloads()
    create_state()


def downgrade() -> None:
    for table in ("parse_state", "parse_payload", "parse_request", "dag_file"):
        op.drop_table(table)


def create_files() -> None:
    op.create_table(
        "dag_file",
        sa.Column("file_id", sa.BigInteger, sa.Identity(), nullable=False),
        sa.Column("bundle", text(250), nullable=False),
        sa.Column("path", text(2000), nullable=False),
        sa.Column("path_hash", text(64), nullable=False),
        sa.Column("found_at", point_in_time(), nullable=False),
        sa.Column("mtime", point_in_time(), comment="of the last scan; NULL = no scan has seen it"),
        sa.Column("digest", text(64), comment="of the last scan; NULL = not taken"),
        sa.Column("parsed_mtime", point_in_time(), comment="mtime of what was parsed last"),
        sa.Column("parsed_digest", text(64)),
        sa.Column("last_parse_start", point_in_time()),
        sa.Column("last_parse_end", point_in_time()),
        sa.Column("last_duration_ms", sa.BigInteger),
        sa.Column("last_error", long_text()),
        sa.Column("dag_ids", json_value(), comment="dags that the last parse imported"),
        sa.Column("last_callback", point_in_time()),
        sa.Column(
            "read_at",
            point_in_time(),
            sa.Computed(
                "CASE WHEN last_parse_end IS NULL OR CASE WHEN parsed_mtime IS NULL THEN mtime > last_parse_start "
                "ELSE mtime <> parsed_mtime END OR digest <> parsed_digest THEN NULL "
                "ELSE greatest(last_parse_end, coalesce(last_callback, last_parse_end)) END",
                persisted=True,
            ),
        ),
        sa.Column("claim_token", sa.Uuid),
        sa.Column("claimed_at", point_in_time()),
        sa.Column("claimed_by", text(250)),
        sa.Column("claim_parses", sa.Boolean, comment="the claim is a parse, not callbacks alone"),
        counter("parses"),
        counter("given_back"),
        counter("merged", "repeats that joined a waiting request, of requests that are done"),
        sa.PrimaryKeyConstraint("file_id", name=op.f("pk_dag_file")),
        sa.UniqueConstraint("bundle", "path_hash", name=op.f("uq_dag_file_bundle")),
        sa.CheckConstraint("octet_length(path_hash) = 64", name=op.f("ck_dag_file_path_hash")),
        sa.CheckConstraint("(claim_token IS NULL) = (claimed_at IS NULL)", name=op.f("ck_dag_file_claim")),
        sa.CheckConstraint(
            "last_parse_start IS NOT NULL OR last_parse_end IS NULL", name=op.f("ck_dag_file_last_parse")
        ),
        **MYSQL_OPTIONS,
    )
    op.create_index(
        op.f("ix_dag_file_claimed_at"),
        "dag_file",
        ["claimed_at"],
        postgresql_where=sa.text("claimed_at IS NOT NULL"),
    )
    op.create_index(op.f("ix_dag_file_read_at"), "dag_file", ["read_at"])


def create_requests() -> None:
    op.create_table(
        "parse_request",
        sa.Column("request_id", sa.BigInteger, sa.Identity(), nullable=False),
        sa.Column("file_id", sa.BigInteger, nullable=False),
        sa.Column("lane", text(10), nullable=False),
        sa.Column("taken", sa.Boolean, nullable=False, server_default=sa.false(), comment="by the claim on the file"),
        sa.Column("line", sa.Integer, nullable=False, comment="within the lane: 0 = never parsed, goes first"),
        sa.Column("kind", text(20), nullable=False, comment="of the first arrival"),
        sa.Column("parse", sa.Boolean, nullable=False, comment="a parse is asked for, not callbacks alone"),
        sa.Column("refill", sa.BigInteger, comment="number of the refill that waits for it"),
        sa.Column("enqueued_at", point_in_time(), nullable=False),
        counter("merged", "repeats that joined it"),
        sa.PrimaryKeyConstraint("request_id", name=op.f("pk_parse_request")),
        sa.ForeignKeyConstraint(
            ["file_id"], ["dag_file.file_id"], name=op.f("fk_parse_request_dag_file"), ondelete="CASCADE"
        ),
        sa.CheckConstraint("lane IN ('requested', 'priority', 'standard')", name=op.f("ck_parse_request_lane")),
        sa.CheckConstraint(
            "kind IN ('requested', 'dag_callback', 'sla_callback', 'disk')", name=op.f("ck_parse_request_kind")
        ),
        sa.CheckConstraint("line IN (0, 1)", name=op.f("ck_parse_request_line")),
        **MYSQL_OPTIONS,
    )
    op.create_index(op.f("ix_parse_request_file"), "parse_request", ["file_id", "lane", "taken"], unique=True)
    if op.get_context().dialect.name == "mysql":
        op.create_index(op.f("ix_parse_request_outstanding"), "parse_request", ["taken", "refill"])
        op.create_index(
            op.f("ix_parse_request_waiting"), "parse_request", ["taken", "lane", "line", "request_id", "file_id"]
        )
    else:
        op.create_index(
            op.f("ix_parse_request_outstanding"),
            "parse_request",
            ["refill"],
            postgresql_where=sa.text("NOT taken AND refill IS NOT NULL"),
        )
        op.create_index(
            op.f("ix_parse_request_waiting"),
            "parse_request",
            ["lane", "line", "request_id"],
            postgresql_where=sa.text("NOT taken"),
        )


def create_payloads() -> None:
    op.create_table(
        "parse_payload",
        sa.Column("payload_id", sa.BigInteger, sa.Identity(), nullable=False),
        sa.Column("request_id", sa.BigInteger, nullable=False),
        sa.Column("kind", text(20), nullable=False),
        sa.Column("payload", long_text(), nullable=False, comment="JSON, as it was given"),
        sa.PrimaryKeyConstraint("payload_id", name=op.f("pk_parse_payload")),
        sa.ForeignKeyConstraint(
            ["request_id"],
            ["parse_request.request_id"],
            name=op.f("fk_parse_payload_parse_request"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("kind IN ('dag_callback', 'sla_callback')", name=op.f("ck_parse_payload_kind")),
        **MYSQL_OPTIONS,
    )
    op.create_index(op.f("ix_parse_payload_request_id"), "parse_payload", ["request_id", "payload_id"])


def create_state() -> None:
    op.create_table(
        "parse_state",
        sa.Column("state_id", sa.Integer, nullable=False, autoincrement=False),
        counter("refills", "number of the last refill"),
        sa.Column("refilled_at", point_in_time()),
        counter("share_credit", "millionths of a slot that the priority lane is owed"),
        sa.Column(
            "waits_since", point_in_time(), comment="since when the priority lane takes every slot; NULL = it does not"
        ),
        counter("breathers"),
        sa.Column("breather_at", point_in_time()),
        sa.Column("breather_up_to", sa.BigInteger, comment="request_id; NULL = no breather now"),
        sa.PrimaryKeyConstraint("state_id", name=op.f("pk_parse_state")),
        sa.CheckConstraint("state_id = 1", name=op.f("ck_parse_state_one_row")),
        **MYSQL_OPTIONS,
    )
