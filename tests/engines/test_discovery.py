"""A platform's file from what a Hadoop's ResourceManager tells."""

from __future__ import annotations

import yaml

from clusterbench.engines.discovery import hadoop
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
