"""Settings of hosts, on hosts whose kernel settings are their own: read, compared, applied, put back."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from clusterbench.base.errors import HostError
from clusterbench.hosts import conformance, setup
from clusterbench.hosts.fleet import Fleet
from clusterbench.hosts.sudoers import sudoers
from clusterbench.spec import Platform
from clusterbench.spec.host_settings import items
from clusterbench_lab.account import server_account

from .namespaces import NamespaceHost, namespace_hosts

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="network and mount namespaces need root"),
]

APPENDIX_A = {
    "kernel.shmmax": 500000000,
    "kernel.shmmni": 4096,
    "kernel.shmall": 4000000000,
    "kernel.sem": "250 512000 100 2048",
    "kernel.msgmnb": 65536,
    "kernel.msgmax": 65536,
    "kernel.msgmni": 2048,
    "net.ipv4.tcp_syncookies": 1,
    "net.ipv4.ip_forward": 0,
    "net.ipv4.conf.default.accept_source_route": 0,
    "net.ipv4.tcp_max_syn_backlog": 4096,
    "net.ipv4.conf.all.arp_filter": 1,
    "net.ipv4.ip_local_port_range": "1025 65535",
}
"""Of paper 000, what a namespace has for itself."""


@pytest.fixture(scope="module")
def hosts() -> Iterator[list[NamespaceHost]]:
    with namespace_hosts(2, disks=True) as made:
        yield made


@pytest.fixture
def fleet(hosts: list[NamespaceHost]) -> Iterator[Fleet]:
    with Fleet(host.address_of() for host in hosts) as made:
        yield made


def platform(on: list[NamespaceHost], name: str = "one", *, applied: bool = True, **setup: Any) -> Platform:
    roles = [["client", "coordinator"], ["segment"]]
    return Platform.model_validate(
        {
            "platform": name,
            "title": name,
            "engine": "postgres",
            "cluster": "tests",
            "hosts": {host.name: {"ssh": host.name, "roles": own} for host, own in zip(on, roles, strict=True)},
            "may": ["host_settings", "drop_caches"] if applied else [],
            "setup": setup,
        }
    )


def rows(declared: Platform, fleet: Fleet) -> list[conformance.Row]:
    wanted = items(declared)
    return conformance.of_hosts(declared, wanted, setup.read(fleet, wanted))


def everything(hosts: list[NamespaceHost]) -> dict[str, Any]:
    data = str(hosts[0].folder / "data1")
    return {
        "sysctl": APPENDIX_A,
        "limits": {
            "nofile": 16384,
            "nproc": 65536,
        },  # the paper's would need CAP_SYS_RESOURCE, which a sandbox may lack
        "disks": {data: {"scheduler": "mq-deadline", "read_ahead_kib": 8192}},
        "mounts": {data: {"type": "xfs", "options": ["noatime", "inode64"], "xfs_agcount": 2}},
        "mtu": 9000,
        "services": {"pgbouncer": "running"},
        "roles": ["coordinator"],
    }


def test_all_of_an_appendix_is_applied_read_back_and_put_back(hosts: list[NamespaceHost], fleet: Fleet) -> None:
    declared = platform(hosts, hosts=[everything(hosts), {"roles": ["segment"], "sysctl": {"net.core.somaxconn": 777}}])
    before = {row.setting: row.found for row in rows(declared, fleet)}
    assert before["mtu"] == "1500"
    assert conformance.problem(declared, rows(declared, fleet))
    setup.set_up(declared, fleet)
    assert conformance.problem(declared, rows(declared, fleet)) == ""
    assert hosts[0].run("cat /proc/sys/kernel/sem").split() == ["250", "512000", "100", "2048"]
    assert hosts[0].run("cat /sys/class/net/cbi0/mtu") == "9000"
    assert "noatime" in hosts[0].run(f"findmnt -no OPTIONS {hosts[0].folder}/data1")
    assert hosts[1].run("cat /proc/sys/net/core/somaxconn") == "777"
    assert hosts[1].run("cat /proc/sys/net/ipv4/conf/all/arp_filter") == "0", "a coordinator's setting only"
    setup.set_up(declared, fleet)  # again, with the same end, and what was first is still what is put back
    setup.put_back(declared, fleet)
    fleet.reconnect(fleet.names)
    assert {row.setting: row.found for row in rows(declared, fleet)} == before
    setup.put_back(declared, fleet)
    assert hosts[0].run(f"ls {hosts[0].folder}/work_root/setup") == ""


def test_without_leave_nothing_is_changed_and_the_difference_is_told_by_host(
    hosts: list[NamespaceHost], fleet: Fleet
) -> None:
    declared = platform(hosts, applied=False, hosts=[{"sysctl": {"net.core.somaxconn": 778}}])
    setup.set_up(declared, fleet)
    said = conformance.problem(declared, rows(declared, fleet))
    assert "  2 hosts: host0, host1: net.core.somaxconn: declared '778', found '4096'" in said
    assert "clusterbench setup one" in said


def test_what_another_platform_left_is_put_back_first(hosts: list[NamespaceHost], fleet: Fleet) -> None:
    left = platform(hosts, "left", hosts=[{"sysctl": {"net.core.somaxconn": 779, "kernel.msgmax": 9000}}])
    setup.set_up(left, fleet)  # and its worker died
    other = platform(hosts, "other", hosts=[{"sysctl": {"net.core.somaxconn": 780}}])
    setup.set_up(other, fleet)
    assert hosts[1].run("cat /proc/sys/kernel/msgmax") == "8192"
    setup.put_back(other, fleet)
    assert hosts[1].run("cat /proc/sys/net/core/somaxconn") == "4096"


def test_what_is_kept_stays(hosts: list[NamespaceHost], fleet: Fleet) -> None:
    kept = platform(hosts, keep=True, hosts=[{"sysctl": {"kernel.msgmnb": 20000}}])
    setup.set_up(kept, fleet)
    setup.put_back(kept, fleet)
    setup.set_up(platform(hosts, "other"), fleet)
    assert hosts[0].run("cat /proc/sys/kernel/msgmnb") == "20000"


def test_unknown_setting_is_told_and_what_is_accepted_is_left(hosts: list[NamespaceHost], fleet: Fleet) -> None:
    gone = {"net.ipv4.tcp_tw_recycle": 1, "net.core.somaxconn": 781}
    with pytest.raises(HostError) as raised:
        setup.set_up(platform(hosts, hosts=[{"sysctl": gone}]), fleet)
    assert "sysctl net.ipv4.tcp_tw_recycle: could not be set to '1'" in str(raised.value)
    assert "host0 (root@" in str(raised.value) and "host1 (root@" in str(raised.value)
    assert "clusterbench sudoers one" in str(raised.value)
    reason = "gone since Linux 4.12"
    declared = platform(hosts, hosts=[{"sysctl": gone}], accepted={"net.ipv4.tcp_tw_recycle": reason})
    setup.set_up(declared, fleet)
    found = rows(declared, fleet)
    assert conformance.problem(declared, found) == ""
    assert [(row.verdict, row.found, row.reason) for row in found if row.setting.endswith("recycle")] == [
        (conformance.ACCEPTED, "", reason)
    ] * 2
    setup.put_back(declared, fleet)


def test_hostile_value_is_a_value(hosts: list[NamespaceHost], fleet: Fleet) -> None:
    flag = hosts[0].folder / "pwned"
    value = f"'; touch {flag}; $(touch {flag}) `touch {flag}`"
    with pytest.raises(HostError, match="could not be set"):
        setup.set_up(platform(hosts, hosts=[{"sysctl": {"kernel.msgmax": value}}]), fleet)
    assert not flag.exists()
    setup.put_back(platform(hosts), fleet)


@pytest.mark.alone  # drops the page cache, which all tests share
def test_login_that_may_do_what_sudoers_says_can_set_up_and_nothing_else(hosts: list[NamespaceHost]) -> None:
    login = server_account().name
    data = str(hosts[0].folder / "data1")
    group = {
        "sysctl": {"net.core.somaxconn": 782, "kernel.sem": "250 512000 100 2048"},
        "limits": {"nofile": 16384},
        "disks": {data: {"scheduler": "mq-deadline"}},
    }
    only_one = {"roles": ["coordinator"], "disks": group.pop("disks")}
    declared = platform(hosts, hosts=[group, only_one])
    allowed = sudoers(declared, [login]).replace("sd[a-z]/", "loop[0-9]/", 1)  # what a test has for a disk
    for host in hosts:
        work = host.folder / f"work_{login}"
        work.mkdir()
        host.run(f"chown {login} {work}")
        check = subprocess.run(["visudo", "-cf", "-"], input=allowed, capture_output=True, text=True, check=False)
        assert check.returncode == 0, check.stderr
        host.run(f"cat >/etc/sudoers.d/clusterbench <<'EOF'\n{allowed}EOF\nchmod 440 /etc/sudoers.d/clusterbench")
    with Fleet(host.address_of(login) for host in hosts) as fleet:
        setup.set_up(declared, fleet)
        assert conformance.problem(declared, rows(declared, fleet)) == ""
        setup.put_back(declared, fleet)
        assert hosts[0].run("cat /proc/sys/net/core/somaxconn") == "4096"
        fleet.run(fleet.names, "sudo -n tee /proc/sys/vm/drop_caches <<<1")
        for more in ("tee /proc/sys/kernel/msgmax", "tee /etc/passwd", "sh", "cat /etc/shadow"):
            refused = fleet.run(fleet.names, f"sudo -n {more} </dev/null", check=False)
            assert all(
                answer.exit_status != 0 and "password is required" in answer.error for answer in refused.values()
            )
        beyond = platform(hosts, hosts=[{"sysctl": {"kernel.msgmax": 9001}}])
        with pytest.raises(HostError, match="'clusterbench sudoers one' prints"):
            setup.set_up(beyond, fleet)
