"""Machines on hosts of libvirt's own test driver: the real library, on which whole layouts come and go."""

from __future__ import annotations

import dataclasses
import gc
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

libvirt = pytest.importorskip("libvirt", reason="libvirt's Python package could not be compiled here (make setup)")

from clusterbench.base.connections import Connection  # noqa: E402
from clusterbench.base.errors import MachineAwayError, MachineError  # noqa: E402
from clusterbench.base.paths import project_root  # noqa: E402
from clusterbench.machines import switch  # noqa: E402
from clusterbench.machines.hypervisors import hypervisor_of  # noqa: E402
from clusterbench.machines.libvirt_read import metadata_of  # noqa: E402
from clusterbench.machines.libvirt_session import Session, reason, uris_of  # noqa: E402
from clusterbench.machines.provider import Guest, Mark  # noqa: E402
from clusterbench.spec.machine_layout import layout  # noqa: E402
from clusterbench.spec.platform import Platform  # noqa: E402
from tests.machines.libvirt_hosts import VOLUME, Hosts  # noqa: E402

MACHINE = {"sockets": 2, "cores_per_socket": 4, "threads_per_core": 2, "memory_gib": 4, "data_disks": 4}
VIRTUAL = {"kind": "virtual", "size_gb": 2, "of": {"machine1": ["fast1"], "machine2": ["fast1", "vg"]}}
RAW = {"kind": "raw", "of": {name: ["wwn-0x1", "wwn-0x2", "wwn-0x3", "wwn-0x4"] for name in ("machine1", "machine2")}}


def platform(name: str = "vm2", vms: int = 2, placement: Any = None, **machines: Any) -> Platform:
    """Two hosts, each cut into ``vms`` machines."""
    return Platform.model_validate(
        {
            "platform": name,
            "title": "t",
            "engine": "greenplum",
            "cluster": "c",
            "database": "db",
            "may": ["switch_machines"],
            "hosts": {
                "client": {"ssh": "c", "roles": ["client"]},
                "cdw": {"ssh": "m", "roles": ["coordinator"]},
                "sdw": {"ssh": "w", "roles": ["segment"], "count": 2 * vms, "machines": 2},
            },
            "placement": {"machine": MACHINE, "vms_per_machine": vms, **(placement or {})},
            "machines": {
                "provider": "libvirt",
                "connection": "servers",
                "login": "guest",
                "template": {"name": "segment"},
                "hosts": {"machine1": "server1", "machine2": "server2"},
                "budget": {"machines": 8, "hours": 10},
                **machines,
            },
        }
    )


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    return Hosts(tmp_path)


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({}, "<vcpu placement='static'>8</vcpu>"),
        ({"disks": VIRTUAL}, "<source pool='fast1' volume='vm2-sdw1-data1'/>"),
        ({"disks": RAW}, "<source dev='/dev/disk/by-id/wwn-0x1'/>"),
        ({"datastore": "images"}, "<driver name='qemu' type='qcow2' cache='none'/>"),
        ({"networks": ["data", "bench"]}, "<source network='data'/>"),
        ({"numa": "bound"}, "<memory mode='strict' nodeset='0'/>"),
        ({"placement": {"pinned_vcpus": True}}, "<vcpupin vcpu='7' cpuset='7'/>"),
        ({"reserve_memory": False, "cores_per_socket": 2}, "<topology sockets='4' dies='1' cores='2' threads='1'/>"),
    ],
)
def test_a_layout_is_made_is_as_wanted_and_is_given_back(hosts: Hosts, changes: dict[str, Any], seen: str) -> None:
    before, wanted = hosts.state(), platform(**changes, afterwards="delete")
    names = [f"vm2-sdw{number}" for number in (1, 2, 3, 4)]
    with hosts.opened() as hypervisor:
        done = switch.bring_up(wanted, hypervisor, "dss/r1")
        assert [one.name for one in done.make] == names == done.start
        there = hypervisor.look()
        assert [there[name].on for name in names] == ["server1", "server2", "server1", "server2"]
        assert all(there[name].is_on for name in names)
        assert there["vm2-sdw2"].mark == Mark("vm2-sdw2", "c", "vm2", "sdw2", "segment", "dss/r1", "dss/r1")
        assert seen in hosts.domain("server1", "vm2-sdw1").XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE)
        assert hypervisor.differs(layout(wanted)) == {}
        assert switch.bring_up(wanted, hypervisor, "dss/r1").is_nothing
        switch.release(wanted, hypervisor, "dss/r1", [])
    assert hosts.state() == before, "nothing is left, and nothing of anybody else has changed"


def test_layouts_take_turns_and_what_was_on_is_on_again(hosts: Hosts) -> None:
    vm1, vm2 = platform("vm1", 1), platform("vm2", 2)
    with hosts.opened() as hypervisor:
        switch.bring_up(vm1, hypervisor, "dss/r1")
        with pytest.raises(MachineError, match=r"is held by run dss/r1: nothing was changed"):
            switch.bring_up(vm2, hypervisor, "dss/r2")
        marks = {name: one.mark for name, one in hypervisor.look().items() if one.mark}
        hypervisor.mark({name: dataclasses.replace(mark, held_by="") for name, mark in marks.items()})
        assert switch.bring_up(vm2, hypervisor, "dss/r2").shut_down == ["vm1-sdw2", "vm1-sdw1"]
        switch.release(vm2, hypervisor, "dss/r2", was_on=["vm1-sdw1", "vm1-sdw2"])
        on = {name for name, one in hypervisor.look().items() if one.is_on}
    assert on == {"theirs", "vm1-sdw1", "vm1-sdw2"}


def test_a_copy_has_volumes_cards_and_an_identity_of_its_own(hosts: Hosts) -> None:
    with hosts.opened() as hypervisor:
        switch.bring_up(platform(disks=VIRTUAL), hypervisor, "r")
    template, copy = (hosts.domain("server1", name).XMLDesc() for name in ("segment", "vm2-sdw1"))
    assert hosts.domain("server1", "segment").UUIDString() not in copy and "52:54:00:11:22:33" not in copy
    assert "theirs" in template and "theirs" not in copy, "its metadata is somebody else's"
    assert "<hugepages/>" in copy and "<locked/>" in copy and "mode='host-passthrough'" in copy
    assert hosts.volumes("server1", "images") == ["segment.qcow2", "vm2-sdw1-vda.qcow2", "vm2-sdw3-vda.qcow2"]
    assert hosts.volumes("server2", "vg") == ["vm2-sdw2-data2", "vm2-sdw4-data2"]
    pool = hosts.conns["server1"].storagePoolLookupByName("fast1")
    assert pool.storageVolLookupByName("vm2-sdw1-data1").info()[1:] == [2 * 10**9, 2 * 10**9], "all of it is taken"


def test_a_machine_that_is_not_as_declared_is_told_and_shaped(hosts: Hosts) -> None:
    changed = platform(
        networks=["data"], reserve_memory=False, cores_per_socket=2, disks=VIRTUAL, placement={"pinned_vcpus": True}
    )
    with hosts.opened() as hypervisor:
        switch.bring_up(platform(), hypervisor, "dss/r1", is_held=False)
        assert hypervisor.differs(layout(changed))["vm2-sdw3"] == [
            "cores a socket 4 -> 2",
            "memory is its own yes -> no",
            "processors none -> 8, 9, 10, 11, 12, 13, 14, 15",
            "data disks none -> clusterbench-data1, clusterbench-data2",
            "networks bench -> data",
        ]
        done = switch.bring_up(changed, hypervisor, "dss/r2")
        assert [one.name for one in done.shape] == done.start == list(reversed(done.shut_down))
        assert hypervisor.differs(layout(changed)) == {}
        mark = hypervisor.look()["vm2-sdw1"].mark
        assert mark is not None and mark.made_by == "dss/r1"
        assert "vm2-sdw1-data2" in hosts.volumes("server1", "fast1")


def test_fewer_data_disks_take_none_away(hosts: Hosts) -> None:
    with hosts.opened() as hypervisor:
        switch.bring_up(platform(disks=VIRTUAL), hypervisor, "r")
        assert hypervisor.differs(layout(platform())) == {}


def test_a_copy_whose_worker_died_is_made_anew(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = platform(disks=VIRTUAL)
    with hosts.opened() as hypervisor:
        with monkeypatch.context() as dying:
            dying.setattr(hypervisor, "_create", lambda *_: (_ for _ in ()).throw(MachineError("the worker died")))
            with pytest.raises(MachineError, match="the worker died"):
                switch.bring_up(wanted, hypervisor, "r")
        pool = hosts.conns["server1"].storagePoolLookupByName("fast1")
        pool.createXML(VOLUME.format(name="vm2-sdw1-data1", bytes=1, kind="raw"))  # its first bytes
        assert hypervisor.look()["vm2-sdw1"].mark, "marked before anything was copied"
        assert hypervisor.differs(layout(wanted))["vm2-sdw1"] == [
            "volume 'vm2-sdw1-data1' is not copied to its end",
            "volume 'vm2-sdw1-data2' is not copied to its end",
        ]
        assert [one.name for one in switch.bring_up(wanted, hypervisor, "r").shape] == [
            one.name for one in layout(wanted)
        ]
        assert hypervisor.differs(layout(wanted)) == {}
        assert pool.storageVolLookupByName("vm2-sdw1-data1").info()[1] == 2 * 10**9


def test_strangers_are_refused(hosts: Hosts) -> None:
    """A copy that somebody made of ours has its metadata, but not its name."""
    with hosts.opened() as hypervisor:
        switch.bring_up(platform(), hypervisor, "r")
        conn, ours = hosts.conns["server1"], hosts.domain("server1", "vm2-sdw1")
        uuid = ours.UUIDString()
        copy = ours.XMLDesc().replace(">vm2-sdw1<", ">vm2-sdw9<").replace(uuid, uuid[::-1].replace("-", "a")[:36])
        conn.defineXML(copy.replace(f"<uuid>{uuid[::-1].replace('-', 'a')[:36]}</uuid>", ""))
        assert hypervisor.look()["vm2-sdw9"].mark is None
        before = hosts.state()
        for name, why in (("vm2-sdw9", "carries no mark"), ("theirs", "carries no mark"), ("vm2-sdw1", "runs")):
            with pytest.raises(MachineError, match=f"machine '{name}' {why}.*: it is not deleted"):
                hypervisor.delete([name])
        assert hosts.state() == before


def test_a_machine_or_a_volume_that_has_a_name_of_ours_is_left_alone(hosts: Hosts) -> None:
    conn = hosts.conns["server2"]
    conn.storagePoolLookupByName("images").createXML(VOLUME.format(name="vm2-sdw2-vda.qcow2", bytes=1, kind="qcow2"))
    with hosts.opened() as hypervisor:
        before = hosts.state()
        with pytest.raises(
            MachineError, match=r"has a volume 'vm2-sdw2-vda.qcow2' already, which belongs to no machine of ours"
        ):
            switch.bring_up(platform(), hypervisor, "r")
        marks = {one.name: Mark(one.name, "c", "vm2", one.host, "segment", "r") for one in layout(platform())}
        with pytest.raises(MachineError, match=r"has a volume 'vm2-sdw2-vda.qcow2' already"):
            hypervisor.make([layout(platform())[1]], marks)
        conn.lookupByName("segment").XMLDesc()
        conn.defineXML(
            "<domain type='test'><name>vm2-sdw4</name><memory>1024</memory><os><type>hvm</type></os></domain>"
        )
        with pytest.raises(MachineError, match="'vm2-sdw4' carries no mark of clusterbench, so it is not shaped"):
            hypervisor.shape([layout(platform())[3]], marks)
        conn.lookupByName("vm2-sdw4").undefine()
        assert hosts.state() == before


def test_a_dry_run_says_its_calls_and_changes_nothing(hosts: Hosts) -> None:
    before, said = hosts.state(), list[str]()
    with hosts.opened(said.append) as hypervisor:
        switch.bring_up(platform(disks=VIRTUAL, numa="bound"), hypervisor, "r")
    assert hosts.state() == before
    assert said[:3] == [
        "defineXML('vm2-sdw1' on server1, like 'segment', 8 vCPUs (4 a socket), 1924 MiB, locked, not shared, "
        "NUMA node 0, virtual disk fast1 2 GB, virtual disk fast1 2 GB)",
        "createXMLFrom('vm2-sdw1-vda.qcow2' in pool 'images', of 'segment.qcow2')",
        "setMetadata('vm2-sdw1', volume 'vm2-sdw1-vda.qcow2' is done)",
    ]
    assert said[-2:] == ["setMetadata('vm2-sdw4', what its guest told = '')", "create('vm2-sdw4')"]
    with hosts.opened() as hypervisor:
        switch.bring_up(platform(), hypervisor, "r")
    before = hosts.state()
    said.clear()
    with hosts.opened(said.append) as hypervisor:
        switch.release(platform(afterwards="delete"), hypervisor, "r", [])
    assert hosts.state() == before and said[0] == "shutdown('vm2-sdw4')"
    assert said[-2:] == ["delete(volume 'vm2-sdw4-vda.qcow2' of pool 'images')", "undefine('vm2-sdw4')"]


def test_a_guest_that_does_not_shut_down_is_told_and_not_cut_off(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libvirt.virDomain, "shutdown", lambda _: 0)  # a guest that heeds no power button
    with hosts.opened() as hypervisor:
        switch.bring_up(platform(), hypervisor, "r")
        with pytest.raises(MachineError, match=r"vm2-sdw1 did not shut down within 0.0.*nothing is cut off"):
            hypervisor.shut_down(["vm2-sdw1"], 0.6)
        assert hypervisor.look()["vm2-sdw1"].is_on


def test_a_guest_is_known_by_what_its_host_says_of_it_since_its_start(hosts: Hosts) -> None:
    names = ["vm2-sdw1", "vm2-sdw2"]
    with hosts.opened() as hypervisor:
        switch.bring_up(platform(), hypervisor, "r")
        assert hypervisor.guests(names) == {}, "an address that was leased is no key"
        hosts.guest_tells("server1", "vm2-sdw1", "10.7.0.77", "ssh-ed25519 AAA root@vm")
        hosts.guest_tells("server2", "vm2-sdw2", "", "ssh-ed25519 BBB")
        told = hypervisor.guests(names)
        assert told["vm2-sdw1"] == Guest("10.7.0.77", "ssh-ed25519 AAA")
        assert told["vm2-sdw2"].host_key == "ssh-ed25519 BBB" and told["vm2-sdw2"].address.startswith("10.7.0.")
        hypervisor.shut_down(names, 5)
        hypervisor.start(names)
        assert hypervisor.guests(names) == {}, "a key that is read is one of this start"


def test_a_guests_agent_is_asked_for_its_key_by_its_own_channel(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers as qemu-guest-agent gives them; the test driver has no agent."""
    answers = {
        "guest-file-open": '{"return": 1000}',
        "guest-file-read": '{"return": {"count": 16, "buf-b64": "c3NoLWVkMjU1MTkgQ0NDIHI=", "eof": false}}',
        "guest-file-close": '{"return": {}}',
    }
    asked = list[str]()

    def agent(_domain: Any, command: str, _timeout: int, _flags: int) -> str:
        asked.append(command)
        return next(answer for name, answer in answers.items() if name in command)

    monkeypatch.setattr("libvirt_qemu.qemuAgentCommand", agent)
    with hosts.opened() as hypervisor:
        switch.bring_up(platform(), hypervisor, "r")
        assert hypervisor.guests(["vm2-sdw1"])["vm2-sdw1"].host_key == "ssh-ed25519 CCC"
    assert '"path": "/etc/ssh/ssh_host_ed25519_key.pub"' in asked[0] and '"handle": 1000' in asked[2]


def test_what_is_known_of_a_host(hosts: Hosts) -> None:
    with hosts.opened() as hypervisor:
        facts = hypervisor.host_facts(["server1"])
    assert list(facts) == ["server1"]
    told = facts["server1"]
    assert (told["sockets"], told["cores"], told["threads"], told["numa_nodes"]) == (2, 8, 16, 2)
    assert told["hyper_threading"] and told["memory_gib"] == 3.0 and told["cpu_model"] == "x86"
    assert told["version"].startswith("TEST ") and told["build"].startswith("libvirt ")
    assert {(one["name"], one["is_on"], one["ours"]) for one in told["machines"]} == {
        ("segment", False, False),
        ("theirs", True, False),
    }


def test_a_window_is_told_only_between_totals_that_were_noted(hosts: Hosts) -> None:
    with hosts.opened() as hypervisor:
        switch.bring_up(platform(), hypervisor, "r")
        names, on = ["vm2-sdw1"], ["server1", "server2"]
        first = hypervisor.totals(names, on)
        assert set(first["hosts"]) == set(on) and "theirs" in first["others"] and "vm2-sdw1" in first["machines"]
        assert first["hosts"]["server1"]["cpu.idle"] > 0
        told = hypervisor.usage(names, on, first["at_s"] + 1, first["at_s"] + 2, [first])
    assert told["machines"] == told["hosts"] == {} and told["covered"] == 0
    assert told["problem"].startswith("libvirt keeps no samples")
    assert hypervisor.clock_ahead_s() == 0


def test_an_error_keeps_its_reason_when_python_collects_beside_it(hosts: Hosts, monkeypatch: Any) -> None:
    """An object of libvirt that ends between a call and its error clears what libvirt would say of it."""
    raised = libvirt.libvirtError.__init__

    def late(error: Any, said: str) -> None:
        domain.ref = None
        gc.collect()
        raised(error, said)

    with hosts.opened() as hypervisor:
        (host, *_) = hypervisor.session.hosts.values()  # type: ignore[attr-defined]
        domain = SimpleNamespace(ref=host.conn.lookupByName("segment"))
        asked = host.conn.lookupByName("segment")
        monkeypatch.setattr(libvirt.libvirtError, "__init__", late)
        with pytest.raises(libvirt.libvirtError) as lost:
            asked.metadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, "urn:none")
        assert lost.value.get_error_code() is None, "libvirt's own package has lost it"
        assert reason(lost.value).code == libvirt.VIR_ERR_NO_DOMAIN_METADATA
        assert "metadata not found" in reason(lost.value).said
        domain.ref = host.conn.lookupByName("segment")
        assert metadata_of(asked, "urn:none") == ""
        assert domain.ref is None, "it was lost again"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"template": {"name": "segmnt"}},
            "machines.template.name: no machine of server1 is called 'segmnt'; did you mean 'segment'? Allowed",
        ),
        (
            {"hosts": {"machine1": "server1", "machine2": "server3"}},
            "machines.hosts.machine2: 'uris' of connection 'servers' names no host 'server3'; did you mean 'server2'?",
        ),
        (
            {"networks": ["dat"]},
            "machines.networks: no active network of server1 is called 'dat'; did you mean 'data'?",
        ),
        ({"datastore": "imags"}, "machines.datastore: no active storage pool of server1 is called 'imags'; did you"),
        (
            {"disks": {"kind": "virtual", "size_gb": 1, "of": {"machine1": ["fast"], "machine2": ["fast1"]}}},
            "machines.disks.of.machine1: no active storage pool of server1 is called 'fast'; did you mean 'fast1'?",
        ),
        ({"template": {"name": "theirs"}}, "machines.template.name: 'theirs' runs on server1; shut it down"),
        (
            {"numa": "bound", "placement": {"vm": {"cpus": 4, "memory_gib": 2.5}}, "reserve_memory": False},
            "machines.numa: 'vm2-sdw1' has 2560 MiB, and NUMA node 0 of 'server1' has 2048; make it smaller, or write",
        ),
    ],
)
def test_what_is_missing_is_told_before_anything_is_touched(hosts: Hosts, changes: Any, said: str) -> None:
    before = hosts.state()
    with hosts.opened() as hypervisor, pytest.raises(MachineError) as refused:
        switch.bring_up(platform(**changes), hypervisor, "r")
    assert said in str(refused.value)
    assert hosts.state() == before


def test_a_disk_that_is_in_no_pool_is_told(hosts: Hosts) -> None:
    conn = hosts.conns["server1"]
    xml = conn.lookupByName("segment").XMLDesc().replace("/images/segment.qcow2", "/elsewhere/segment.qcow2")
    conn.defineXML(xml)
    with hosts.opened() as hypervisor:
        (problem,) = hypervisor.check(layout(platform()))
    assert problem == (
        "machines.template.name: disk vda of 'segment' on server1 (/elsewhere/segment.qcow2) is in no active storage "
        "pool; define a pool of its folder, and refresh it"
    )


def test_a_machine_that_is_on_another_host_is_not_moved(hosts: Hosts) -> None:
    moved = platform(hosts={"machine1": "server2", "machine2": "server1"})
    with hosts.opened() as hypervisor:
        switch.bring_up(platform(), hypervisor, "r")
        problems = hypervisor.check(layout(moved))
    assert len(problems) == 4
    assert (
        "machines.hosts.machine1: 'vm2-sdw1' is on 'server1', where its disks are, and not on 'server2'; write that "
        "host, or delete the machine there"
    ) in problems


def connection(**extra: Any) -> Connection:
    return Connection("servers", "", None, "bench", "wrong", "", extra)


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({}, "connection 'servers': 'uris' in its extra is missing; it must have each hypervisor's host and its"),
        ({"uris": ["a"]}, "'uris' in its extra is ['a']; it must have"),
        ({"uris": {"s1": "server1"}}, "of host 's1', 'server1' is not a URI; write one as in"),
        (
            {"uris": {"s1": "qemu+tls://s1/system?no_verify=1"}},
            "of host 's1', no_verify=1 would accept any host that answers; remove it, and give the worker",
        ),
        ({"uris": {"s1": "qemu+libssh2://s1/system?known_hosts_verify=auto"}}, "known_hosts_verify=auto would accept"),
    ],
)
def test_a_connection_that_cannot_be(extra: Any, said: str) -> None:
    with pytest.raises(MachineError) as refused:
        uris_of(connection(**extra))
    assert said in str(refused.value)


def test_ssh_asks_nobody_for_a_password() -> None:
    uris = {"a": "qemu+ssh://root@a/system", "b": "qemu+ssh://b/system?keyfile=/k", "c": "qemu+tls://c/system"}
    assert uris_of(connection(uris=uris)) == {
        "a": "qemu+ssh://root@a/system?no_tty=1",
        "b": "qemu+ssh://b/system?keyfile=/k&no_tty=1",
        "c": "qemu+tls://c/system",
    }


def test_a_host_that_does_not_answer_is_away() -> None:
    session = Session(connection(uris={"here": "test:///default", "gone": "qemu+tcp://127.0.0.9:1/system"}))
    with pytest.raises(MachineAwayError) as refused:
        session.open()
    assert "libvirt host gone (qemu+tcp://127.0.0.9:1/system): cannot be reached to log in" in str(refused.value)
    assert "Connection refused; check that libvirt runs there and that the URI is right" in str(refused.value)


def test_a_login_that_is_refused_is_no_outage(tmp_path: Path) -> None:
    node = tmp_path / "node.xml"
    node.write_text("<node><auth><user password='right'>bench</user></auth></node>")
    extra = {"uris": {"s1": f"test://{node}"}}
    with pytest.raises(MachineError) as refused:
        Session(connection(**extra)).open()
    assert not isinstance(refused.value, MachineAwayError)
    assert "the login 'bench' was refused" in str(refused.value)
    session = Session(Connection("servers", "", None, "bench", "right", "", extra))
    session.open()
    assert list(session.hosts) == ["s1"]
    session.close()


def test_a_worker_without_the_package_says_which_and_how(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = platform().machines
    assert machines is not None
    monkeypatch.delitem(sys.modules, "clusterbench.machines.libvirt_hosts")
    monkeypatch.setitem(sys.modules, "libvirt", None)
    with pytest.raises(MachineError) as refused, hypervisor_of(machines, lambda _: connection()):
        pass
    assert "libvirt needs the Python package 'libvirt'" in str(refused.value)
    assert "pip install 'clusterbench[libvirt]'" in str(refused.value)


def test_a_dag_file_needs_no_hypervisors_package() -> None:
    told = "import clusterbench.run.machines, sys; print({'libvirt', 'pyVmomi'} & set(sys.modules))"
    command = [sys.executable, "-c", told]
    done = subprocess.run(command, cwd=project_root() / "plugins", capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_provider_of_a_platform_is_libvirt() -> None:
    machines = platform().machines
    assert machines is not None
    with hypervisor_of(machines, lambda _: connection(uris={"server1": "test:///default"})) as hypervisor:
        assert hypervisor.look()["test"].is_on
