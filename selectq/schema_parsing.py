"""Tables of the parse queue: dag files, what waits for them, the payloads of callbacks, and whose turn it is.

A file is known by bundle and path. Paths may be longer than a key can be on MySQL, so the key holds the SHA-256 of the
path. Whatever concerns one file (its requests, their payloads, its claim) is changed under a lock on its row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql

BUNDLE_LENGTH = 250
PATH_LENGTH = 2000
HASH_LENGTH = 64
"""SHA-256 in hexadecimal digits: of a path, or of a file's content."""

LANES = ("requested", "priority", "standard")
"""In the order in which they are served."""

KINDS = ("requested", "dag_callback", "sla_callback", "disk")

CHANGED = (
    "CASE WHEN parsed_mtime IS NULL THEN mtime > last_parse_start ELSE mtime <> parsed_mtime END "
    "OR digest <> parsed_digest"
)
"""Whether a file has changed since its last parse; of a parse from elsewhere only the time may be known."""

READ_AT = (
    f"CASE WHEN last_parse_end IS NULL OR {CHANGED} THEN NULL "
    "ELSE greatest(last_parse_end, coalesce(last_callback, last_parse_end)) END"
)
"""The time from which ``min_file_process_interval`` counts; NULL = due at once: never parsed, or changed since."""

Types = Callable[[int], sa.types.TypeEngine[str]]
Time = Callable[[], sa.types.TypeEngine[Any]]


def add_parsing_tables(table: Callable[..., sa.Table], text: Types, time: Time, on_mysql: bool) -> None:
    """Add the tables to the metadata that ``table`` makes tables in.

    Args:
        table: makes a table of a name and items.
        text, time: column types for text of a length, and for points in time.
        on_mysql: MySQL has no partial indexes; there a leading column stands for the condition.
    """
    add_files(table, text, time, on_mysql)
    add_requests(table, text, time, on_mysql)
    table(
        "parse_state",
        sa.Column("state_id", sa.Integer, primary_key=True, autoincrement=False),
        counter("refills", "number of the last refill"),
        sa.Column("refilled_at", time()),
        counter("share_credit", "millionths of a slot that the priority lane is owed"),
        sa.Column("waits_since", time(), comment="since when the priority lane takes every slot; NULL = it does not"),
        counter("breathers"),
        sa.Column("breather_at", time()),
        sa.Column("breather_up_to", sa.BigInteger, comment="request_id; NULL = no breather now"),
        sa.CheckConstraint("state_id = 1", name="one_row"),
    )


def add_files(table: Callable[..., sa.Table], text: Types, time: Time, on_mysql: bool) -> None:
    made = table(
        "dag_file",
        sa.Column("file_id", sa.BigInteger, sa.Identity(), primary_key=True),
        sa.Column("bundle", text(BUNDLE_LENGTH), nullable=False),
        sa.Column("path", text(PATH_LENGTH), nullable=False),
        sa.Column("path_hash", text(HASH_LENGTH), nullable=False),
        sa.Column("found_at", time(), nullable=False),
        sa.Column("mtime", time(), comment="of the last scan; NULL = no scan has seen it"),
        sa.Column("digest", text(HASH_LENGTH), comment="of the last scan; NULL = not taken"),
        sa.Column("parsed_mtime", time(), comment="mtime of what was parsed last"),
        sa.Column("parsed_digest", text(HASH_LENGTH)),
        sa.Column("last_parse_start", time()),
        sa.Column("last_parse_end", time()),
        sa.Column("last_duration_ms", sa.BigInteger),
        sa.Column("last_error", long_text()),
        sa.Column("dag_ids", json_type(), comment="dags that the last parse imported"),
        sa.Column("last_callback", time()),
        sa.Column("read_at", time(), sa.Computed(READ_AT, persisted=True)),
        sa.Column("claim_token", sa.Uuid),
        sa.Column("claimed_at", time()),
        sa.Column("claimed_by", text(BUNDLE_LENGTH)),
        sa.Column("claim_parses", sa.Boolean, comment="the claim is a parse, not callbacks alone"),
        counter("parses"),
        counter("given_back"),
        counter("merged", "repeats that joined a waiting request, of requests that are done"),
        sa.UniqueConstraint("bundle", "path_hash"),
        sa.CheckConstraint("octet_length(path_hash) = 64", name="path_hash"),
        sa.CheckConstraint("(claim_token IS NULL) = (claimed_at IS NULL)", name="claim"),
        sa.CheckConstraint("last_parse_start IS NOT NULL OR last_parse_end IS NULL", name="last_parse"),
    )
    sa.Index("ix_dag_file_read_at", made.c.read_at)
    claimed = None if on_mysql else sa.text("claimed_at IS NOT NULL")
    sa.Index("ix_dag_file_claimed_at", made.c.claimed_at, postgresql_where=claimed)


def add_requests(table: Callable[..., sa.Table], text: Types, time: Time, on_mysql: bool) -> None:
    made = table(
        "parse_request",
        sa.Column("request_id", sa.BigInteger, sa.Identity(), primary_key=True),
        sa.Column("file_id", sa.BigInteger, nullable=False),
        sa.Column("lane", text(10), nullable=False),
        sa.Column("taken", sa.Boolean, nullable=False, server_default=sa.false(), comment="by the claim on the file"),
        sa.Column("line", sa.Integer, nullable=False, comment="within the lane: 0 = never parsed, goes first"),
        sa.Column("kind", text(20), nullable=False, comment="of the first arrival"),
        sa.Column("parse", sa.Boolean, nullable=False, comment="a parse is asked for, not callbacks alone"),
        sa.Column("refill", sa.BigInteger, comment="number of the refill that waits for it"),
        sa.Column("enqueued_at", time(), nullable=False),
        counter("merged", "repeats that joined it"),
        sa.ForeignKeyConstraint(["file_id"], ["dag_file.file_id"], ondelete="CASCADE"),
        sa.CheckConstraint(f"lane IN ({', '.join(map(repr, LANES))})", name="lane"),
        sa.CheckConstraint(f"kind IN ({', '.join(map(repr, KINDS))})", name="kind"),
        sa.CheckConstraint("line IN (0, 1)", name="line"),
    )
    sa.Index("ix_parse_request_file", made.c.file_id, made.c.lane, made.c.taken, unique=True)
    if on_mysql:
        # With file_id: MySQL reads ahead, and each of those rows would have to be looked up.
        c = made.c
        sa.Index("ix_parse_request_waiting", c.taken, c.lane, c.line, c.request_id, c.file_id)
        sa.Index("ix_parse_request_outstanding", made.c.taken, made.c.refill)
    else:
        waiting, outstanding = sa.text("NOT taken"), sa.text("NOT taken AND refill IS NOT NULL")
        sa.Index(
            "ix_parse_request_waiting", made.c.lane, made.c.line, made.c.request_id, postgresql_where=waiting
        )
        sa.Index("ix_parse_request_outstanding", made.c.refill, postgresql_where=outstanding)
    payload = table(
        "parse_payload",
        sa.Column("payload_id", sa.BigInteger, sa.Identity(), primary_key=True),
        sa.Column("request_id", sa.BigInteger, nullable=False),
        sa.Column("kind", text(20), nullable=False),
        sa.Column("payload", long_text(), nullable=False, comment="JSON, as it was given"),
        sa.ForeignKeyConstraint(["request_id"], ["parse_request.request_id"], ondelete="CASCADE"),
        sa.CheckConstraint("kind IN ('dag_callback', 'sla_callback')", name="kind"),
    )
    sa.Index("ix_parse_payload_request_id", payload.c.request_id, payload.c.payload_id)


def counter(name: str, comment: str | None = None) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0", autoincrement=False, comment=comment)


def json_type() -> sa.types.TypeEngine[Any]:
    return sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def long_text() -> sa.types.TypeEngine[str]:
    return sa.Text().with_variant(mysql.LONGTEXT(), "mysql")
