"""From ``placement`` and ``machines`` of a platform's file to each virtual machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from clusterbench.base.paths import project_root
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.machine_layout import Disk, layout, name_of, problems
from clusterbench.spec.platform import Platform

WORKER = {"ssh": "w", "roles": ["segment"], "count": 4, "machines": 2}


def platform(**changes: Any) -> Platform:
    """Two hosts of 2 x 8 cores with 2 threads each, and two machines on each."""
    machines = {
        "provider": "vsphere",
        "connection": "vc",
        "login": "guest",
        "template": {"name": "segment"},
        "hosts": {"machine1": "esx1", "machine2": "esx2"},
        "budget": {"machines": 8, "hours": 10},
        **changes.pop("machines", {}),
    }
    placement = {
        "machine": {"sockets": 2, "cores_per_socket": 8, "threads_per_core": 2, "memory_gib": 96, "data_disks": 16},
        "vms_per_machine": 2,
        **changes.pop("placement", {}),
    }
    hosts = {
        "client": {"ssh": "c", "roles": ["client"]},
        "cdw": {"ssh": "m", "roles": ["coordinator"]},
        "sdw": WORKER,
        **changes.pop("hosts", {}),
    }
    said = {"platform": "vm2", "title": "t", "engine": "greenplum", "cluster": "c", "database": "db", "hosts": hosts}
    return Platform.model_validate({**said, "placement": placement, "machines": machines, **changes})


def problem(**changes: Any) -> str:
    (found,) = problems(platform(**changes))
    return found


def test_each_machine_is_an_even_share_of_its_host() -> None:
    made = layout(platform())
    assert [(one.name, one.host, one.on) for one in made] == [
        ("vm2-sdw1", "sdw1", "esx1"),
        ("vm2-sdw2", "sdw2", "esx2"),
        ("vm2-sdw3", "sdw3", "esx1"),
        ("vm2-sdw4", "sdw4", "esx2"),
    ]
    assert {(one.cpus, one.cores_per_socket, one.memory_mib) for one in made} == {(16, 8, 46200)}, (
        "94 % of 96 GiB, by 2"
    )
    assert all(one.memory_mib % 4 == 0 and one.reserve_memory and not one.processors for one in made)


def test_coordinators_are_started_first() -> None:
    hosts = {"cdw": {"ssh": "m", "roles": ["coordinator"], "machine": "machine1"}}
    assert layout(platform(hosts=hosts, placement={"vms_per_machine": 3}))[0].host == "cdw"


def test_nodes_and_processors_are_dealt_out_in_turn() -> None:
    """16 vCPUs in all on 16 cores: each vCPU has a core to itself, and so every second thread."""
    placement = {"vm": {"cpus": 8, "memory_gib": 40}, "pinned_vcpus": True}
    first, _, third, _ = layout(platform(placement=placement, machines={"numa": "bound"}))
    assert (first.numa_node, third.numa_node) == (0, 1)
    assert first.processors == tuple(range(0, 16, 2)) and third.processors == tuple(range(16, 32, 2))


def test_threads_are_pinned_where_cores_do_not_suffice() -> None:
    first, _, third, _ = layout(platform(placement={"pinned_vcpus": True}))
    assert first.processors == tuple(range(16)) and third.processors == tuple(range(16, 32))


def test_disks_of_a_host_are_dealt_out_to_its_machines() -> None:
    raw = {"kind": "raw", "of": {f"machine{n}": [f"naa.{n}{disk:02}" for disk in range(16)] for n in (1, 2)}}
    first, _, third, _ = layout(platform(machines={"disks": raw}))
    assert first.disks == tuple(Disk("raw", f"naa.1{disk:02}", None) for disk in range(8))
    assert third.disks == tuple(Disk("raw", f"naa.1{disk:02}", None) for disk in range(8, 16))


def test_every_machine_has_disks_of_each_enclosure() -> None:
    """The best practice of paper 000; with two enclosures of eight disks."""
    of = {f"machine{n}": [[f"naa.{n}{shelf}{disk}" for disk in range(8)] for shelf in "ab"] for n in (1, 2)}
    first, _, third, _ = layout(platform(machines={"disks": {"kind": "raw", "of": of}}))
    assert [disk.of for disk in first.disks[:4]] == ["naa.1a0", "naa.1b0", "naa.1a1", "naa.1b1"]
    for machine in (first, third):
        assert [disk.of[5] for disk in machine.disks].count("a") == 4
    assert len({disk.of for machine in (first, third) for disk in machine.disks}) == 16
    few = {"kind": "raw", "of": {f"machine{n}": [["naa.1"], ["naa.2", "naa.3"]] for n in (1, 2)}}
    assert "has 3, and its machines need 16 (8 each)" in problem(machines={"disks": few})


def test_virtual_disks_share_datastores_where_there_are_fewer() -> None:
    virtual = {"kind": "virtual", "size_gb": 500, "of": {"machine1": ["ds1", "ds2"], "machine2": ["ds3"]}}
    first, *_ = layout(platform(machines={"disks": virtual}))
    assert [disk.of for disk in first.disks] == ["ds1", "ds2"] * 4 and {disk.size_gb for disk in first.disks} == {500}


def test_a_name_holds_no_underscore() -> None:
    assert name_of(platform(platform="lab_vm2"), "db_1") == "lab-vm2-db-1"


def test_a_file_that_is_well_has_no_problem() -> None:
    assert problems(platform()) == []


def test_what_cannot_be_is_told_before_anything_is_made() -> None:
    assert "needs a 'placement' with vms_per_machine of 1 or more" in problem(placement={"vms_per_machine": 0})
    assert problem(machines={"hosts": {"machine1": "esx1"}}).startswith(
        "machines.hosts: which host of the hypervisor is"
    )
    unused = {"machine1": "esx1", "machine2": "esx2", "machine3": "esx3"}
    assert "no host of this file is on 'machine3'" in problem(machines={"hosts": unused})
    assert "is 3, and this file wants 4; raise it" in problem(machines={"budget": {"machines": 3, "hours": 1}})
    few = {"kind": "raw", "of": {"machine1": ["naa.1"], "machine2": ["naa.2"]}}
    assert "has 1, and its machines need 16 (8 each)" in problem(machines={"disks": few})
    large = {"vm": {"cpus": 16, "memory_gib": 50}}
    assert "2 machines of 50 GiB do not fit into the 96 GiB of a host" in problem(placement=large)
    pinned = {"vm": {"cpus": 20, "memory_gib": 40}, "pinned_vcpus": True}
    assert "40 vCPUs cannot each have one of 32 threads to itself" in problem(placement=pinned)


def test_a_host_that_drives_load_is_no_machine_of_a_layout() -> None:
    hosts = {"client": {"ssh": "c", "roles": ["client"], "machine": "machine1"}}
    assert problem(hosts=hosts, placement={"vms_per_machine": 3}).startswith("hosts.client.machine: drives the load")


@pytest.mark.parametrize(
    ("machines", "said"),
    [
        ({"provider": "xen"}, "Input should be 'vsphere'"),
        ({"memory": 1}, "Extra inputs are not permitted"),
        (
            {"disks": {"kind": "raw", "size_gb": 5, "of": {"machine1": ["d"]}}},
            "size_gb: is the disk's own; take it out",
        ),
        ({"disks": {"kind": "virtual", "of": {"machine1": ["d"]}}}, "size_gb: is missing"),
        ({"template": {"name": "a/b"}}, "should match pattern"),
    ],
)
def test_a_mistake_is_told_at_its_key(machines: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        platform(machines=machines)


@pytest.mark.parametrize(
    ("changed", "by", "said"),
    [
        (
            "lab_vcenter",
            "other_vcenter",
            "machines.connection: its hypervisor is 'other_vcenter', and that of 'lab_made_",
        ),
        (
            "ssh: lab_client",
            "ssh: lab_etl",
            "hosts.client.ssh: its client is 'lab_etl', and that of 'lab_made_retail_vm1'",
        ),
    ],
)
def test_layouts_of_a_cluster_share_hypervisor_and_client(tmp_path: Path, changed: str, by: str, said: str) -> None:
    folder = tmp_path / "include" / "platforms"
    folder.mkdir(parents=True)
    for name in ("lab_made_retail_vm1", "lab_made_retail_vm2", "vm1", "vm2"):
        text = (
            (project_root() / "include" / "platforms" / f"{name}.yaml")
            .read_text()
            .replace("experiments: [retail]\n", "")
        )
        (folder / f"{name}.yaml").write_text(text.replace(changed, by) if name == "lab_made_retail_vm2" else text)
    (problem,) = Catalog(tmp_path).lint()
    assert problem.startswith(str(folder / "lab_made_retail_vm2.yaml")) and said in problem
    assert (
        "take turns, so they must have the same. Correct one of them, or give this platform another cluster" in problem
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"folder": "bench"}, "folder: libvirt has no folders of machines; take it out"),
        (
            {"template": {"name": "segment", "snapshot": "loaded"}},
            "template.snapshot: libvirt copies a machine's disks as",
        ),
    ],
)
def test_what_libvirt_has_not_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        platform(machines={"provider": "libvirt", **changes})
    platform(machines=changes)
