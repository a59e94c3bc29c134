"""Apache Airflow's scheduler on a scratch database of its own, beside selectq's on the same server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from benchmarks.peers import airflow_rows
from benchmarks.peers.process import Peer, make_environment
from selectq.scratch import scratch_database

DRIVERS = {"postgresql": "postgresql+psycopg2", "mysql": "mysql+mysqldb"}


@contextmanager
def airflow(url: str, ours: sa.Engine, say: airflow_rows.Say) -> Iterator[Peer]:
    """Airflow with the rows that are in selectq's tables in ``ours``, on the server of ``url``.

    Raises:
        PeerError: it can't be installed, or its own code fails.
    """
    python = make_environment("airflow")
    with (
        scratch_database(url, migrated=False) as theirs,
        tempfile.TemporaryDirectory() as home,
        Peer(python, "airflow_peer.py", environment(theirs, Path(home))) as peer,
    ):
        peer.ask("migrate")
        airflow_rows.load(ours, theirs, peer, say)
        yield peer


def environment(engine: sa.Engine, home: Path) -> dict[str, str]:
    """What an installation would set, and no more: a log level that writes no line for each task instance."""
    url = engine.url.set(drivername=DRIVERS[engine.dialect.name])
    if engine.dialect.name == "postgresql":
        with engine.connect() as connection:
            url = url.update_query_dict({"options": f"-csearch_path={airflow_rows.schema(connection)}"})
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": url.render_as_string(hide_password=False),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    }
