"""What is said where the server's contrib modules are not installed."""

from __future__ import annotations

import pytest

from clusterbench.base.capabilities import why_no_cache_state
from clusterbench.base.paths import project_root
from clusterbench.engines import engine_class
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.platform import Platform

GREENPLUM = Catalog(project_root()).read_platform(project_root() / "include/platforms/greenplum_cluster.yaml")
POSTGRES = Catalog(project_root()).platform("lab_db1")
MAY_ALL = ["restart", "evict", "drop_caches"]


@pytest.mark.parametrize("platform", [POSTGRES, GREENPLUM])
def test_states_that_cannot_be_proved_or_made_are_not_applicable(platform: Platform) -> None:
    platform = platform.model_copy(update={"may": MAY_ALL})
    unavailable_on = engine_class(platform).unavailable_on
    lacks = unavailable_on(platform, {"lacking_extensions": ["pg_buffercache"]})
    for state in ("cold", "warm", "database_warm", "as_left"):
        why = why_no_cache_state(state, lacks)
        assert why is not None and why.startswith("this server has no extension pg_buffercache, which shows")
        assert "install the contrib modules" in why
    assert why_no_cache_state("ramped_up", lacks) is None
    lacks = unavailable_on(platform, {"lacking_extensions": ["pg_prewarm"]})
    assert why_no_cache_state("cold", lacks) is None
    assert "pg_prewarm, which reads tables" in str(why_no_cache_state("warm", lacks))
    assert why_no_cache_state("warm", unavailable_on(platform, {"lacking_extensions": []})) is None


def test_where_no_host_can_be_asked_nothing_has_to_be_proved() -> None:
    client = {name: host for name, host in GREENPLUM.hosts.items() if host.roles == ["client"]}
    hostless = GREENPLUM.model_copy(update={"hosts": client})
    lacks = engine_class(hostless).unavailable_on(hostless, {"lacking_extensions": ["pg_buffercache"]})
    assert why_no_cache_state("warm", lacks) is None
