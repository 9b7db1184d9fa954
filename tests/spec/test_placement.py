"""Machines and VMs per machine give the papers' tables, and their best practices are judged as the papers say."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.base.paths import project_root
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.host_settings import items
from clusterbench.spec.placed import Placed, contradictions, density, even_share, placed
from clusterbench.spec.placement import Machine, Size
from clusterbench.spec.placement_rules import PracticeCheck, check_practices
from clusterbench.trial.plan import estimate, make_plan, read_choices

CATALOG = Catalog(project_root())
PLATFORMS = {path.stem: CATALOG.read_platform(path) for path in CATALOG.platform_files}
TEMPLATES = [name for name, platform in PLATFORMS.items() if platform.template]
TABLE_1 = CATALOG.published("terasort").tables[0]


def of_template(name: str) -> Placed:
    one = placed(PLATFORMS[name])
    assert one is not None
    return one


def machine(name: str) -> Machine:
    return of_template(name).machine


def platform(machine: dict[str, Any], vms: int, hosts: int = 1, **keys: Any) -> Platform:
    """Segment hosts on one machine; ``keys`` are of the placement."""
    placement = {"machine": {"sockets": 2, "threads_per_core": 2, **machine}, "vms_per_machine": vms, **keys}
    sdw = {"ssh": "s", "roles": ["segment"], "count": hosts, "machines": 1}
    written = {"client": {"ssh": "c", "roles": ["client"]}, "sdw": sdw}
    return Platform.model_validate(
        {"platform": "p", "title": "P", "engine": "greenplum", "cluster": "c", "hosts": written, "placement": placement}
    )


def judged(one: Platform | str) -> dict[str, PracticeCheck]:
    found = of_template(one) if isinstance(one, str) else placed(one)
    assert found is not None
    return {judgement.rule: judgement for judgement in check_practices(found)}


# The papers' tables.


@pytest.mark.parametrize(("vms", "size"), [(1, (16, 92, 16)), (2, (8, 46, 8)), (4, (4, 23, 4))])
def test_greenplum_vms_are_those_of_paper_000(vms: int, size: tuple[int, float, int]) -> None:
    cpus, memory, disks = size
    stated = of_template(f"vm{vms}")
    assert stated.size == Size(cpus=cpus, memory_gib=memory, data_disks=disks)
    assert even_share(stated.machine, vms, "cores", memory_gib=92) == stated.size
    assert (stated.hosts, stated.machines) == (4 * vms, 4)


@pytest.mark.parametrize("row", range(len(TABLE_1.rows)), ids=list(TABLE_1.rows))
def test_hadoop_workers_are_those_of_table_1(row: int) -> None:
    """Slots and map tasks, too, follow from them: ``tests/engines/hadoop/test_paper_platforms.py``."""
    name, values = list(TABLE_1.rows.items())[row]
    vms = 0 if name == "native" else int(name.split()[0])
    printed = dict(zip(TABLE_1.columns, values, strict=True))
    one = of_template(f"hadoop_vm{vms}" if vms else "hadoop_native")
    assert one.placement.vms_per_machine == vms
    assert one.size == Size(
        cpus=int(printed["cpus"]), memory_gib=printed["memory_gib"], data_disks=int(printed["data_disks"])
    )
    assert (one.hosts, one.slots) == (printed["workers"], printed["worker_slots"])
    if vms:
        assert even_share(one.machine, vms, "threads", memory_gib=241) == one.size


def test_94_percent_of_256_gib_are_the_241_of_paper_002() -> None:
    share = even_share(machine("hadoop_vm1"), 1, "threads")
    assert share is not None
    assert share.memory_gib is not None
    assert round(share.memory_gib) == 241


def test_the_database_of_paper_003_has_64_of_72_threads_and_475_of_512_gb() -> None:
    one = of_template("order_entry_vm")
    assert (one.machine.cores, one.machine.threads) == (36, 72)
    assert even_share(one.machine, 1, "threads", memory_gib=475, cpus_kept=8) == one.size
    assert one.size.cpus == 64
    assert judged("order_entry_vm")["room for the hypervisor"].found == "8 of 72 threads left"


@pytest.mark.parametrize(
    ("name", "vms", "vcpus", "machines"), [("ideal", 1, 16, 8), ("base", 4, 64, 2), ("oversubscribed", 8, 128, 1)]
)
def test_density_scenarios_are_those_of_paper_004(name: str, vms: int, vcpus: int, machines: int) -> None:
    one = of_template(f"density_{name}")
    assert (one.machine.cores, one.machine.threads) == (48, 96)
    assert (one.placement.vms_per_machine, one.cpus, one.machines, one.hosts) == (vms, vcpus, machines, 8)
    assert (one.size.cpus, one.size.memory_gib) == (16, 128)
    assert density(one.machine, one.cpus) == name


@pytest.mark.parametrize(("vcpus", "name"), [(48, "ideal"), (49, "base"), (96, "base"), (97, "oversubscribed")])
def test_a_density_ends_where_cores_or_threads_end(vcpus: int, name: str) -> None:
    assert density(machine("density_base"), vcpus) == name


# Templates.


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_has_a_placement(name: str) -> None:
    assert of_template(name).say()


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_plans_at_full_scale_with_every_experiment_of_its_engine(name: str) -> None:
    experiments = [CATALOG.read_experiment(path) for path in CATALOG.experiment_files]
    of_engine = [one for one in experiments if PLATFORMS[name].engine in CATALOG.engines_of(one)]
    assert of_engine
    for experiment in of_engine:
        plan = make_plan(experiment, read_choices(experiment, {"scale": "full", "platforms": [name]}), CATALOG)
        assert [one.trials > one.not_applicable for one in estimate(plan, CATALOG)] == [True]


def test_platforms_without_a_placement_have_none() -> None:
    assert placed(PLATFORMS["lab_db1"]) is None
    assert contradictions(PLATFORMS["lab_db1"]) == []


# Sizes that nobody wrote.


def test_without_a_size_each_vm_has_an_even_share() -> None:
    whole = {"cores_per_socket": 10, "memory_gib": 200, "data_disks": 10}
    by_threads, by_cores = placed(platform(whole, 4)), placed(platform(whole, 4, share="cores"))
    assert by_threads is not None
    assert by_cores is not None
    assert by_threads.size == Size(cpus=10, memory_gib=47, data_disks=2)
    assert by_cores.size == Size(cpus=5, memory_gib=47, data_disks=2)


def test_what_is_not_known_of_a_machine_is_not_judged() -> None:
    one = platform({"cores_per_socket": 10}, 2)
    assert set(judged(one)) == {
        *("CPUs in one NUMA node", "no oversubscription", "CPU pinning", "room for the hypervisor")
    }


# Judgements.


@pytest.mark.parametrize(
    ("name", "rule", "level", "found"),
    [
        ("vm1", "CPUs in one NUMA node", "against", "16 vCPUs exceed the 8 cores of a node: the VM spans nodes"),
        ("vm2", "CPUs in one NUMA node", "good", "8 vCPUs within the 8 cores of a node"),
        ("native", "CPUs in one NUMA node", "mind", "one system on 2 nodes: some of its memory is always remote"),
        ("vm1", "memory in one NUMA node", "against", "1 x 92 GiB on a node of 48 GiB"),
        ("vm4", "memory in one NUMA node", "good", "2 x 23 GiB on a node of 48 GiB"),
        ("hadoop_vm20", "memory in one NUMA node", "good", "10 x 12.05 GiB on a node of 128 GiB"),
        ("hadoop_vm1", "at most 94 % of the memory", "good", "241 of 256 GiB, 94 %"),
        (
            *("vm2", "at most 94 % of the memory", "mind"),
            "92 of 96 GiB, 96 %: a machine with less than 256 GiB should give less than 94 %",
        ),
        ("density_ideal", "no oversubscription", "good", "ideal: 16 vCPUs on 48 cores, each has one to itself"),
        (
            *("density_base", "no oversubscription", "mind"),
            "base: 48 cores < 64 vCPUs <= 96 threads, some share a core",
        ),
        (
            *("density_oversubscribed", "no oversubscription", "against"),
            "oversubscribed: 128 vCPUs on 96 threads, 1:1.33",
        ),
        ("density_oversubscribed", "room for the hypervisor", "against", "none of 96 threads left"),
        ("order_entry_vm_esxi51", "room for the hypervisor", "mind", "none of 64 threads left"),
        ("vm4", "disks dealt out evenly", "good", "4 x 4 of 16"),
        ("hadoop_native", "at most 5 disks a DataNode", "mind", "20 disks"),
        ("hadoop_vm4", "at most 5 disks a DataNode", "good", "5 disks"),
        ("hadoop_vm20", "at most 5 disks a DataNode", "good", "1 disk"),
        ("hadoop_native", "2 to 10 VMs on two sockets", "mind", "none; 4 were the fastest"),
        ("hadoop_vm20", "2 to 10 VMs on two sockets", "mind", "20 VMs; 4 were the fastest"),
        ("hadoop_vm4", "2 to 10 VMs on two sockets", "good", "4 VMs; 4 were the fastest"),
    ],
)
def test_a_placement_of_a_paper_is_judged(name: str, rule: str, level: str, found: str) -> None:
    judgement = judged(name)[rule]
    assert (judgement.level, judgement.found) == (level, found)


def test_the_papers_best_platforms_have_nothing_against_them() -> None:
    for name in ("vm2", "vm4", "hadoop_vm2", "hadoop_vm4", "hadoop_vm10", "density_ideal"):
        assert [one.rule for one in judged(name).values() if one.level == "against"] == []


@pytest.mark.parametrize(
    ("prefer_ht", "level", "found"),
    [
        (
            *(False, "mind"),
            "20 vCPUs exceed the 10 cores of a node, not its 20 threads: set numa.vcpu.preferHT and prefer_ht",
        ),
        (True, "good", "20 vCPUs within the 20 threads of a node, and threads count (prefer_ht)"),
    ],
)
def test_two_vms_of_all_threads_fit_only_where_threads_count(prefer_ht: bool, level: str, found: str) -> None:
    """Paper 002, Virtual Machines: by default both are scheduled across both nodes."""
    one = platform({"cores_per_socket": 10, "memory_gib": 256}, 2, prefer_ht=prefer_ht)
    judgement = judged(one)["CPUs in one NUMA node"]
    assert (judgement.level, judgement.found) == (level, found)


def test_interleaved_memory_has_no_node_to_fit_into() -> None:
    """Paper 000, Figure 4: two VMs were 2 % faster than one then, and 8 % with NUMA."""
    one = platform({"cores_per_socket": 8, "memory_gib": 96}, 2, share="cores", interleaved_memory=True)
    found = judged(one)
    judgement = found["CPUs in one NUMA node"]
    said = "memory is interleaved over 2 nodes: some of it is always remote"
    assert (judgement.level, judgement.found, judgement.source) == ("mind", said, "000, Figure 4")
    assert "memory in one NUMA node" not in found
    made = placed(one)
    assert made is not None and made.say().endswith(", memory interleaved over all nodes")


@pytest.mark.parametrize(("vms", "level"), [(2, None), (4, "mind"), (5, None)])
def test_pinning_is_advised_where_vms_share_cores(vms: int, level: str | None) -> None:
    """Paper 004, Conclusions: its base scenario. With a core for each there is nothing to pin, with less no room."""
    for pinned in (False, True):
        vm = {"cpus": 8, "memory_gib": 16}
        one = platform({"cores_per_socket": 8, "memory_gib": 96}, vms, vm=vm, pinned_vcpus=pinned)
        found = judged(one).get("CPU pinning")
        assert (found and found.level) == (level and ("good" if pinned else "mind"))


def test_machines_without_vms_pin_none() -> None:
    one = platform({"cores_per_socket": 8}, 0, pinned_vcpus=True)
    assert contradictions(one) == [
        "placement.pinned_vcpus: is about VMs, and vms_per_machine is 0; take one of the two out"
    ]


def test_a_machine_of_one_socket_has_no_nodes_to_fit_into() -> None:
    one = platform({"sockets": 1, "cores_per_socket": 8, "memory_gib": 64}, 1, vm={"cpus": 12, "memory_gib": 60})
    assert not [rule for rule in judged(one) if "NUMA" in rule]


@pytest.mark.parametrize(
    ("memory_gib", "vm_gib", "level", "found"),
    [
        (256, 60.25, "good", "241 of 256 GiB, 94 %"),
        (256, 61, "mind", "244 of 256 GiB, 95 %"),
        (
            *(1024, 244, "mind"),
            "976 of 1024 GiB, 95 %: a machine with more than 256 GiB bears slightly more than 94 %",
        ),
        (64, 15, "good", "60 of 64 GiB, 94 %: a machine with less than 256 GiB should give less than 94 %"),
        (256, 65, "against", "260 of 256 GiB, 102 %: the hypervisor must swap"),
    ],
)
def test_memory_is_judged_by_what_the_machine_has(memory_gib: float, vm_gib: float, level: str, found: str) -> None:
    one = platform({"cores_per_socket": 10, "memory_gib": memory_gib}, 4, vm={"cpus": 4, "memory_gib": vm_gib})
    judgement = judged(one)["at most 94 % of the memory"]
    assert (judgement.level, judgement.found) == (level, found)


@pytest.mark.parametrize(
    ("each", "level", "found"), [(3, "mind", "4 x 3 of 16: 4 idle"), (5, "against", "4 x 5 of 16: VMs share disks")]
)
def test_disks_that_do_not_come_out_even_are_told(each: int, level: str, found: str) -> None:
    one = platform({"cores_per_socket": 10, "data_disks": 16}, 4, vm={"cpus": 4, "data_disks": each})
    judgement = judged(one)["disks dealt out evenly"]
    assert (judgement.level, judgement.found) == (level, found)


# What a file cannot say of itself; the rest is in tests/fixtures/invalid/platforms/placement_*.yaml.


def test_a_density_without_vms_is_refused() -> None:
    assert contradictions(platform({"cores_per_socket": 4}, 0, density="ideal")) == [
        "placement.density: is about VMs, and vms_per_machine is 0; take one of the two out"
    ]


def test_hosts_without_a_machine_of_their_own_name_are_a_machine_each() -> None:
    assert (of_template("native").machines, of_template("hadoop_vm1").machines) == (4, 31)


# Settings of the appendices.


def settings_of(name: str, role: str) -> dict[str, str]:
    """Setting -> declared value of the first host with ``role``, without those of one data disk."""
    platform = PLATFORMS[name]
    declared = items(platform)[platform.hosts_with(role)[0]]
    return {item.setting: item.declared for item in declared if "/data" not in item.setting}


@pytest.mark.parametrize(
    ("paper", "role", "count", "some"),
    [
        (
            *(["native", "vm1", "vm2", "vm4"], "segment", 20),
            {"kernel.sem": "250 512000 100 2048", "vm.overcommit_memory": "2", "limit nofile": "65536"},
        ),
        (
            *([name for name in TEMPLATES if name.startswith("hadoop_")], "worker", 13),
            {"net.ipv4.tcp_rmem": "4096 87380 16777216", "mtu": "9000", "limit nproc": "32768"},
        ),
        (
            *(["order_entry_native", "order_entry_vm"], "coordinator", 16),
            {"vm.nr_hugepages": "225500", "kernel.perf_event_paranoid": "-1"},
        ),
    ],
    ids=["000", "002", "003"],
)
def test_platforms_of_a_paper_have_the_settings_of_its_appendix(
    paper: list[str], role: str, count: int, some: dict[str, str]
) -> None:
    first = settings_of(paper[0], role)
    assert len(first) == count
    assert first.items() >= some.items()
    assert [name for name in paper if settings_of(name, role) != first] == []


@pytest.mark.parametrize("name", [name for name in TEMPLATES if PLATFORMS[name].setup.hosts])
def test_every_data_disk_of_a_host_that_does_the_work_is_mounted_as_the_paper_says(name: str) -> None:
    platform, one = PLATFORMS[name], of_template(name)
    working = next(hosts for role in ("worker", "segment", "coordinator") if (hosts := platform.hosts_with(role)))
    mounts = [item for item in items(platform)[working[0]] if item.kind == "mount_type"]
    assert len(mounts) == (0 if name.startswith("order_entry") else one.size.data_disks)
    if platform.hadoop:
        assert [item.name for item in mounts] == platform.hadoop.data_dirs
