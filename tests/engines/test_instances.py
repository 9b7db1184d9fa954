"""Instances of a cluster: rows of a real gp_segment_configuration, and who is where."""

from __future__ import annotations

from typing import Any

from clusterbench.engines.instances import place

CAPTURED: list[dict[str, Any]] = [
    # From Greenplum 6.24.3, whose "char" columns psycopg gives as text; mirrors as its documentation shows them.
    {"content": -1, "role": "p", "preferred_role": "p", "mode": "n", "status": "u", "port": 6100,
     "hostname": "cdw", "address": "cdw-1", "datadir": "/data/coordinator/gpseg-1"},
    {"content": 0, "role": "p", "preferred_role": "p", "mode": "s", "status": "u", "port": 6101,
     "hostname": "sdw1", "address": "10.0.0.11", "datadir": "/data/primary/gpseg0"},
    {"content": 0, "role": "m", "preferred_role": "m", "mode": "s", "status": "u", "port": 7101,
     "hostname": "sdw2", "address": "10.0.0.12", "datadir": "/data/mirror/gpseg0"},
    {"content": 1, "role": "p", "preferred_role": "p", "mode": "s", "status": "u", "port": 6101,
     "hostname": "sdw2", "address": "10.0.0.12", "datadir": "/data/primary/gpseg1"},
]  # fmt: skip
HOSTS = {"coordinator": ["coordinator", "10.0.0.1", "cdw"], "one": ["one", "10.0.0.11"], "two": ["two", "h2", "sdw2"]}


def test_instances_are_found_by_name_or_address_of_their_hosts() -> None:
    placed, problems = place(CAPTURED, HOSTS)
    assert problems == []
    assert [(i.host, i.content, i.is_mirror) for i in placed] == [
        ("coordinator", -1, False), ("one", 0, False), ("two", 0, True), ("two", 1, False),
    ]  # fmt: skip


def test_an_instance_on_an_unknown_host_is_named_with_that_host() -> None:
    _, problems = place(CAPTURED, {"coordinator": ["cdw"], "one": ["10.0.0.11"]})
    assert problems == [
        "segment 0 (mirror) on 10.0.0.12:7101, host name 'sdw2', is on none of the platform's hosts",
        "segment 1 on 10.0.0.12:6101, host name 'sdw2', is on none of the platform's hosts",
    ]


def test_without_hosts_instances_are_known_and_placed_nowhere() -> None:
    placed, problems = place(CAPTURED, {})
    assert problems == [] and {i.host for i in placed} == {None}


def test_where_two_hosts_answer_to_a_name_the_surer_one_is_taken() -> None:
    """Several hosts on one machine share what ``uname`` says; the name in the platform's file decides."""
    placed, _ = place(CAPTURED[:1], {"client": ["client", "127.0.1.11", "cdw"], "cdw": ["cdw", "127.0.1.12", "cdw"]})
    assert placed[0].host == "cdw"
