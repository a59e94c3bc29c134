"""Stands in for ``psql URL [-f FILE]`` and ``mysql ...``, which not every machine has: runs the SQL of FILE or stdin.

Only on the engine that the client is for; on the other one it reads the SQL and does nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import sqlalchemy as sa

from selectq.database import create_engine

client, *arguments = sys.argv[1:]
sql = Path(arguments[arguments.index("-f") + 1]).read_text() if "-f" in arguments else sys.stdin.read()
if not sql.strip():
    sys.exit(f"{client}: no SQL")
engine = create_engine(os.environ["DOCS_URL"], poolclass=sa.NullPool)
if engine.dialect.name == {"psql": "postgresql", "mysql": "mysql"}[client]:
    with engine.begin() as connection:
        # As the clients do: text is text, a colon is no parameter.
        result = connection.exec_driver_sql(sql.rstrip().rstrip(";"))
        for row in result if result.returns_rows else ():
            print(*row, sep="\t")
