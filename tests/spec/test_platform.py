"""Hosts and roles of a platform."""

from __future__ import annotations

import pytest

from clusterbench.spec import Platform
from clusterbench.spec.loading import load
from tests import FIXTURES


@pytest.fixture
def one_host() -> Platform:
    return load(FIXTURES / "valid/platforms/one_host.yaml", Platform)


@pytest.fixture
def every_key() -> Platform:
    return load(FIXTURES / "valid/platforms/every_key.yaml", Platform)


def test_one_host_may_have_every_role(one_host: Platform) -> None:
    assert one_host.client == "all"
    assert one_host.database_hosts == ["all"]


def test_hosts_are_found_by_role_in_the_order_of_the_file(every_key: Platform) -> None:
    assert every_key.client == "client"
    assert every_key.database_hosts == ["db"]
    assert every_key.hosts_with("segment", "etl") == ["etl_1", "db"]
    assert every_key.hosts_with("namenode") == []


def test_what_is_not_said_has_a_default(one_host: Platform) -> None:
    assert (one_host.description, one_host.pooler_port, one_host.template) == ("", 16432, False)


def test_what_is_said_holds(every_key: Platform) -> None:
    assert (every_key.page_cache, every_key.pooler_port, every_key.template) == ("drop_caches", 6432, True)
    assert every_key.settings == {"fsync": "on"}
    assert every_key.hosts["client"].ssh == "c.example"
    assert every_key.independent_answers is not None and every_key.independent_answers.host == "etl_1"


@pytest.mark.parametrize(("segments", "telling"), [(3, ["client", "db", "s1", "s2", "s3"]), (4, ["client", "db"])])
def test_a_number_cannot_do_without_the_telemetry_of_client_coordinator_and_one_of_few(
    every_key: Platform, segments: int, telling: list[str]
) -> None:
    client = every_key.hosts["client"].model_copy(update={"roles": ["client"]})
    many = {f"s{n}": client.model_copy(update={"roles": ["segment"]}) for n in range(1, segments + 1)}
    both = client.model_copy(update={"roles": ["coordinator", "segment"]})
    platform = every_key.model_copy(update={"hosts": {"client": client, "db": both, **many}})
    assert platform.telling_hosts[:2] == ["client", "db"]
    few = every_key.model_copy(update={"hosts": {"client": client, "db": client, **many}})
    assert few.telling_hosts == telling
