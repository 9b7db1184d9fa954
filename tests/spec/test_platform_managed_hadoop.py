"""What the file of a Hadoop that somebody else runs may say."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from clusterbench.engines import engine_class
from clusterbench.engines.hadoop.engine import HadoopCluster
from clusterbench.engines.hadoop.managed.engine import ManagedHadoop
from clusterbench.spec.checks import check_platform
from clusterbench.spec.platform import Platform


def platform(hadoop: dict[str, Any] | None = None, **keys: Any) -> Platform:
    said = {
        "platform": "lake",
        "title": "The lake",
        "engine": "hadoop",
        "cluster": "lake",
        "page_cache": "none",
        "hosts": {"client": {"ssh": "edge", "roles": ["client"]}},
        "hadoop": {"slots": 2, "managed": {"path": "/user/bench"}} | (hadoop or {}),
    }
    return Platform.model_validate(said | keys)


def test_one_host_is_enough_and_its_engine_is_the_one_that_starts_nothing() -> None:
    lake = platform()
    assert check_platform(lake) == [] and lake.is_managed
    assert engine_class(lake) is ManagedHadoop
    assert "no worker's host is named" in str(lake.without_hosts)
    ours = platform({"managed": None})
    assert engine_class(ours) is HadoopCluster and ours.without_hosts is None


@pytest.mark.parametrize("leave", ["restart", "recover", "engine_settings", "reboot"])
def test_leave_to_start_or_set_something_of_it_is_a_mistake(leave: str) -> None:
    assert check_platform(platform(may=[leave])) == [
        f"may: {leave!r} is of a Hadoop that clusterbench starts, and this one is managed; take it out"
    ]


def test_hosts_of_its_masters_are_not_ours_to_name() -> None:
    hosts = {"client": {"ssh": "edge", "roles": ["client"]}, "m": {"ssh": "m", "roles": ["namenode"]}}
    (problem,) = check_platform(platform(hosts=hosts))
    assert problem.endswith("are named; take out the role 'namenode'")


def test_a_page_cache_can_be_emptied_on_hosts_that_are_named_alone() -> None:
    assert check_platform(platform(page_cache="drop_caches")) == [
        "page_cache: no worker's host is named whose cache could be emptied; write page_cache: none"
    ]
    hosts = {"client": {"ssh": "edge", "roles": ["client"]}, "w": {"ssh": "w", "roles": ["worker"], "count": 3}}
    assert check_platform(platform(page_cache="drop_caches", hosts=hosts, may=["drop_caches"])) == []


def test_services_of_kerberos_are_said_where_clusterbench_starts_them_and_nowhere_else() -> None:
    files = {"keytab": "/k", "keystore": "/s", "truststore": "/t"}
    kerberos = {"connection": "bench", "services": {"realm": "R", **files}}
    with pytest.raises(ValidationError, match=r"kerberos.services: are of a Hadoop that clusterbench starts"):
        platform({"kerberos": kerberos})
    with pytest.raises(
        ValidationError, match=r"kerberos.services: are missing: realm, keytab, keystore and truststore"
    ):
        platform({"kerberos": {"connection": "bench"}, "managed": None})
    assert platform({"kerberos": kerberos, "managed": None}).hadoop


def test_what_a_guest_cannot_have_is_known_without_asking() -> None:
    known = ManagedHadoop.unavailable_on(platform(), {})
    assert "starts and stops nothing" in known["daemons_restarted"] == known["machines_rebooted"]
    assert known["fio"] == known["iperf3"] == "disks and network of a managed Hadoop's hosts are not ours to load"
    few = ManagedHadoop.unavailable_on(platform(), {"workers": 2})
    assert few["replicas_3"] == "3 replicas cannot be kept apart: there are 2 DataNodes" and "replicas_2" not in few
    assert ManagedHadoop.unavailable_on(platform(), {"workers": 0})["workers"] == "no worker of this Hadoop runs"
