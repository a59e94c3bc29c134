"""``make plans``: write the baselines of plans anew on every server version that is tested."""

from __future__ import annotations

import sys

from benchmarks.servers import servers_for
from selectq.cli import main
from tests.servers.names import EVERY_SERVER

if __name__ == "__main__":
    with servers_for(EVERY_SERVER, {}) as urls:
        databases = [word for url in urls.values() for word in ("--db", url)]
        main(["explain", "--check", "--update", *databases, *sys.argv[1:]], prog_name="selectq")
