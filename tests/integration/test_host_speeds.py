"""How fast hosts are by themselves: real programs on hosts of their own, one of which has a slow network."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from clusterbench.base.archive import CONNECTION_ID, Store
from clusterbench.base.connections import Connections
from clusterbench.hosts import speed
from clusterbench.hosts.fleet import Fleet
from clusterbench.results import stragglers
from clusterbench.run import host_speeds, steps
from clusterbench.run.validation import about_host_speeds
from clusterbench.spec import Platform
from clusterbench.spec.platform import HostSpeed

from .helpers import new_run, on_testbed
from .namespaces import NamespaceHost, namespace_hosts

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
DECLARED = HostSpeed(every_days=7, seconds=1, disk_mib=16)
NETWORK = ("network_sent_mibit_per_s", "network_received_mibit_per_s")
SLOW = 2


@contextmanager
def switch(hosts: list[NamespaceHost]) -> Iterator[str]:
    """A network for data, between them alone. The link of one host is slow."""
    name, network = f"cbs{os.getpid()}", f"10.214.{os.getpid() % 200}"

    def do(*command: str) -> None:
        subprocess.run(command, check=True, capture_output=True)

    do("ip", "netns", "add", name)
    try:
        do("ip", "netns", "exec", name, "ip", "link", "add", "switch", "type", "bridge")
        do("ip", "netns", "exec", name, "ip", "link", "set", "switch", "up")
        for number, host in enumerate(hosts):
            pid = (host.folder / "sshd.pid").read_text().strip()
            do(
                "ip",
                "link",
                "add",
                f"port{number}",
                "netns",
                name,
                "type",
                "veth",
                "peer",
                "name",
                "data",
                "netns",
                pid,
            )
            do("ip", "netns", "exec", name, "ip", "link", "set", f"port{number}", "master", "switch", "up")
            host.run(f"ip address add {network}.{number + 1}/24 dev data && ip link set data up")
        hosts[SLOW].run("tc qdisc add dev data root tbf rate 50mbit burst 64kb latency 50ms")
        yield f"{network}.0/24"
    finally:
        do("ip", "netns", "delete", name)


def platform(hosts: list[NamespaceHost], network: str, **more: Any) -> Platform:
    roles = [["client", "coordinator"], *([["segment"]] * (len(hosts) - 1))]
    named = {host.name: {"ssh": host.name, "roles": own} for host, own in zip(hosts, roles, strict=True)}
    about = {"platform": "one", "title": "one", "engine": "greenplum", "cluster": "tests", "data_network": network}
    return Platform.model_validate({**about, "hosts": named, **more})


@pytest.mark.alone  # in a second of measuring, a host that others keep waiting would be slow, too
@needs_root
def test_a_host_with_a_slow_network_is_named() -> None:
    with namespace_hosts(5) as hosts, switch(hosts) as network, Fleet(host.address_of() for host in hosts) as fleet:
        declared = platform(hosts, network)
        found = speed.measure(fleet, declared, HostSpeed(seconds=1), {})
        assert found.problems == {}
        assert all(set(speeds) == {"processor_events_per_s", "memory_mib_per_s", *NETWORK}
                   for speeds in found.hosts.values())  # fmt: skip
        network_alone = {host: {name: of[name] for name in NETWORK} for host, of in found.hosts.items()}
        roles = {name: host.roles for name, host in declared.hosts.items()}
        said = stragglers.find(network_alone, roles, [], 50)
        assert {one.host for one in said} == {hosts[SLOW].name}
        assert "network_sent_mibit_per_s" in {one.what for one in said}
        for host in hosts:
            assert host.run(f"ss -Hltn 'sport = :{speed.PORT}'") == ""


def test_speeds_are_measured_in_set_up_once_in_so_many_days(connections: Connections) -> None:
    run = new_run(connections)
    with on_testbed(run, host_speed=DECLARED) as testbed:
        store = replace(Store.of(connections(CONNECTION_ID)), prefix="host_speeds_tests/")
        facts = testbed.engine.facts()
        first = host_speeds.of_set_up(store, testbed, facts, "run1")
        assert first is not None
        assert set(first["hosts"]) == set(testbed.fleet.names)
        assert "disk_write_mib_per_s" not in first["hosts"]["db1"]
        assert "does not let clusterbench write a file into the folders" in first["problems"]["db1"][0]
        again = host_speeds.of_set_up(store, testbed, facts, "run2")
        assert again is not None
        assert (again["run"], again["at"]) == ("run1", first["at"])
        testbed.platform = testbed.platform.model_copy(
            update={
                "host_speed": DECLARED.model_copy(update={"every_days": 0.0}),
                "may": [*testbed.platform.may, "measure_disks"],
            }
        )
        with_disk = host_speeds.of_set_up(store, testbed, facts, "run3")
        assert with_disk is not None and with_disk["run"] == "run3"
        assert with_disk["hosts"]["db1"]["disk_write_mib_per_s"] > 0
        assert with_disk["hosts"]["db1"]["disk_read_mib_per_s"] > 0
        left = testbed.fleet.run_on("db1", f"ls {facts['data_directory']}").output
        assert "clusterbench_speed" not in left
    (verdict,) = about_host_speeds({"lab_db1": with_disk})
    assert not verdict.critical
    assert "lab_db1 was measured on 20" in verdict.found


def test_what_is_missing_on_a_host_is_said_and_the_rest_is_measured(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    with on_testbed(new_run(connections), host_speed=DECLARED) as testbed:
        true = speed.script

        def without_sysbench(name: str, **values: Any) -> str:
            text = true(name, **values)
            return text.replace("need sysbench", "need sysbench_is_not_here") if name == "hosts/speed" else text

        monkeypatch.setattr(speed, "script", without_sysbench)
        found = speed.measure(testbed.fleet, testbed.platform, DECLARED, {})
        assert "processor not measured: sysbench_is_not_here is not installed there" in found.problems["db1"]
        assert set(found.hosts["db1"]) == set(NETWORK)


def test_slow_hosts_are_facts_of_a_run(connections: Connections) -> None:
    """Through set-up, as a run does it: the platform's file declares nothing, so nothing is measured."""
    run = new_run(connections)
    steps.open_run(run, {"scale": "smoke", "platforms": ["lab_db1"]}, {"by": "test"})
    steps.set_up_cluster(run, "lab_db1")
    assert run.archive.get_json("platforms/lab_db1/host_speeds.json") is None
    assert "slow_in" not in run.archive.need_json("platforms/lab_db1/facts.json")["hosts"]["db1"]
