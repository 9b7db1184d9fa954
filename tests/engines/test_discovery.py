"""A platform's file, and its connections, from what a Greenplum's catalogue or a ResourceManager tells."""

from __future__ import annotations

from typing import Any

import yaml

from clusterbench.base.connections import from_parts
from clusterbench.engines.discovery import Access, Discovered, greenplum, hadoop, postgres
from clusterbench.spec.platform import Platform

NODES = [
    {"nodeHostName": "w1.example.com", "totalVirtualCores": 16},
    {"nodeHostName": "w2.example.com", "totalVirtualCores": 8},
]


def test_hadoop_that_answers_is_somebody_else_s() -> None:
    found = hadoop("lake", "rm.example.com", NODES)
    platform = Platform.model_validate(yaml.safe_load(found.yaml))
    assert platform.is_managed and platform.template and list(platform.hosts) == ["client"]
    assert platform.hadoop is not None and platform.hadoop.slots == 8
    assert list(found.connections) == ["lake_client"]


def test_where_our_own_is_to_run_all_hosts_are_named() -> None:
    platform = Platform.model_validate(hadoop("lake", "rm.example.com", NODES, own_daemons=True).platform)
    assert not platform.is_managed
    assert platform.hosts_with("namenode") == ["master"] and platform.hosts_with("worker") == ["w1", "w2"]


DATABASE = from_parts("mine_database", {"host": "10.20.0.20", "login": "gpadmin", "schema": "bench"})
ALL_SAID = Access("gpadmin", "/etc/bench/key", "10.20.0.10", "10.20.0.11", asks_for_keys=True)


def segments(hosts: int, each: int) -> list[dict[str, Any]]:
    """As ``gp_segment_configuration`` has them, with a coordinator, a standby's mirrors left out."""
    rows: list[dict[str, Any]] = [
        {"content": -1, "hostname": "cdw.example.com", "address": "10.20.0.20", "preferred_role": "p"}
    ]
    for content in range(hosts * each):
        number = content // each + 1
        address = f"10.20.0.{100 + number}"
        rows.append({"content": content, "hostname": f"sdw{number}", "address": address, "preferred_role": "p"})
    return rows


def read(found: Discovered) -> Platform:
    return Platform.model_validate(yaml.safe_load(found.yaml))


def test_cluster_of_16_segment_hosts_is_complete_where_all_that_it_cannot_tell_is_said() -> None:
    found = greenplum("mine", DATABASE, segments(16, 8), {"fsync": "on"}, ALL_SAID)
    platform = read(found)
    assert not platform.template and "FILL IN" not in found.yaml
    assert platform.hosts_with("segment") == [f"sdw{n}" for n in range(1, 17)] and platform.segments_per_host == 8
    assert [len(platform.hosts_with(role)) for role in ("client", "etl", "coordinator")] == [1, 1, 1]
    assert len(found.connections) == 19
    last = found.connections["mine_sdw16"]
    assert (last["host"], last["login"], last["extra"]["key_file"]) == ("10.20.0.116", "gpadmin", "/etc/bench/key")
    assert "port" not in last, "22 is what every connection means"


def test_what_nobody_has_said_is_to_be_filled_in() -> None:
    found = postgres("mine", DATABASE, {})
    assert read(found).template and "then take out 'template'" in found.yaml
    assert found.connections["mine_client"]["host"] == found.connections["mine_client"]["login"] == "FILL IN"
    assert found.connections["mine_db"]["host"] == "10.20.0.20"


def test_one_address_is_one_host_with_several_roles() -> None:
    on_one = Access("postgres", "/k", "10.20.0.10", "10.20.0.10", port=2222, asks_for_keys=True)
    found = postgres("mine", DATABASE, {}, on_one)
    assert {name: host.roles for name, host in read(found).hosts.items()} == {
        "client": ["client", "etl"],
        "db": ["coordinator"],
    }
    assert {one["port"] for one in found.connections.values()} == {2222}
    beside = postgres("mine", DATABASE, {}, Access("postgres", "/k", "10.20.0.20", "10.20.0.11"))
    assert read(beside).hosts["client"].roles == ["client", "coordinator"]
