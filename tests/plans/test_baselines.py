"""The plans of all queries are those that are committed, whatever the statistics say.

If one is not, for a good reason: ``make plans``, and read the diff of ``benchmarks/plans``.
"""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from selectq.catalogue import default_catalogue
from selectq.cli.explain_check import SIZES
from selectq.plans import checkout
from selectq.plans.baseline import Baselines, server_key
from selectq.plans.check import judge, look
from selectq.plans.states import STATES
from tests.servers.names import EVERY_SERVER

WORKLOADS = checkout.workloads(SIZES[0]).values()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("area", sorted({workload.area for workload in WORKLOADS}))
@pytest.mark.parametrize("engine_name", EVERY_SERVER)
def test_plans_are_as_committed(engine: sa.Engine, area: str) -> None:
    url = engine.url.render_as_string(hide_password=False)
    queries = [query for query in default_catalogue() if query.name.startswith(f"{area}/")]
    left = judge(look(url, queries, WORKLOADS), default_catalogue(), checkout.BASELINES)
    assert [f"{each.query} {each.place} {each.rule}: {each.reason}" for each in left] == []


@pytest.mark.parametrize("engine_name", EVERY_SERVER)
def test_there_are_baselines_of_both_sizes_for_each_query(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        baselines = Baselines(checkout.BASELINES, server_key(connection))
    for query in default_catalogue():
        if query.dialect == engine.dialect.name:
            own = [workload.name for workload in WORKLOADS if query.name.startswith(f"{workload.area}/")]
            # A query that is run on some of these workloads only has none elsewhere.
            found = baselines.read(query.id).keys()
            assert found <= {f"{name}/{rows}/{state}" for name in own for rows in SIZES for state in STATES}, query.id
            assert {int(place.split("/")[1]) for place in found} == set(SIZES), query.id
