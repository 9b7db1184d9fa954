"""From a platform's file to Hadoop's configuration: the slots of the paper, the rendered files, places of workers."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from clusterbench.base.errors import EngineError
from clusterbench.engines.hadoop.configuration import (
    SITES,
    Configuration,
    Secrets,
    container_mb,
    map_tasks,
    own_rule,
)
from clusterbench.spec import Platform
from clusterbench.spec.placed import slots
from clusterbench.spec.platform import Hadoop

WORKERS = {"ssh": "w", "roles": ["worker"], "count": 4}
TWO_A_MACHINE = {**WORKERS, "machines": 2, "machines_per_rack": 1}
WITH_NODE_GROUPS = "org.apache.hadoop.net.NetworkTopologyWithNodeGroup"
OF_ONE_HOST = [
    "hadoop.tmp.dir",
    "net.topology.script.file.name",
    "dfs.namenode.name.dir",
    "dfs.datanode.data.dir",
    "dfs.datanode.hostname",
    "dfs.datanode.address",
    "dfs.datanode.http.address",
    "dfs.datanode.ipc.address",
    "yarn.nodemanager.hostname",
    "yarn.nodemanager.bind-host",
    "yarn.nodemanager.local-dirs",
    "yarn.nodemanager.log-dirs",
]


def hosts(workers: Mapping[str, Any] = WORKERS, **others: list[str]) -> dict[str, Any]:
    """A client, a master, four workers, and hosts of other roles."""
    more = {name: {"ssh": name, "roles": roles} for name, roles in others.items()}
    return {
        "client": {"ssh": "c", "roles": ["client"]},
        "master": {"ssh": "m", "roles": ["namenode"]},
        **more,
        "worker": workers,
    }


def configuration(addresses: Mapping[str, str] | None = None, **keys: Any) -> Configuration:
    """Of a platform with ``keys``; its hosts are 10.0.0.1 and so on, each with a folder of its own."""
    said = {"platform": "p", "title": "P", "engine": "hadoop", "cluster": "c", "hosts": hosts(), "hadoop": {"slots": 2}}
    platform = Platform.model_validate({key: value for key, value in (said | keys).items() if value is not None})
    numbered = {host: f"10.0.0.{number}" for number, host in enumerate(platform.hosts, 1)}
    return Configuration(
        platform,
        numbered | dict(addresses or {}),
        {host: f"/work/of_{host}" for host in platform.hosts},
        {host: f"/opt/of_{host}" for host in platform.hosts},
    )


def read(text: str) -> dict[str, str]:
    """Setting -> value, as Hadoop reads a file."""
    root = ET.fromstring(text)
    assert root.tag == "configuration"
    found = [(p.findtext("name") or "", p.findtext("value") or "") for p in root.findall("property")]
    assert len(dict(found)) == len(found), "a setting stands once"
    return dict(found)


def settings(made: Configuration, host: str = "worker1") -> dict[str, str]:
    """Of all files of a host together."""
    files = made.files(host)
    return {name: value for site in SITES for name, value in read(files[site]).items()}


# Slots, map tasks, containers.


@pytest.mark.parametrize(
    ("cpus", "data_disks", "expected"),
    [(40, 20, 22), (20, 10, 11), (10, 5, 6), (4, 2, 3), (2, 1, 1)],
    ids=["native", "2 VMs", "4 VMs", "10 VMs", "20 VMs"],
)
def test_slots_are_those_of_the_paper_s_table_1(cpus: int, data_disks: int, expected: int) -> None:
    worker = {"cpus": cpus, "memory_gib": 12.05, "data_disks": data_disks}
    assert slots(Hadoop.model_validate({"worker": worker})) == expected


def test_slots_that_are_said_win() -> None:
    """As for the paper's 1 VM, whose disks and CPUs are those of native."""
    worker = {"cpus": 40, "memory_gib": 241, "data_disks": 20}
    assert slots(Hadoop.model_validate({"slots": 20, "worker": worker})) == 20


@pytest.mark.parametrize(("cpus", "data_disks", "expected"), [(1, 1, 1), (1, 20, 1), (4, 20, 3), (8, 3, 4)])
def test_slots_leave_a_cpu_to_the_daemons_but_are_never_none(cpus: int, data_disks: int, expected: int) -> None:
    worker = {"cpus": cpus, "memory_gib": 16, "data_disks": data_disks}
    assert slots(Hadoop.model_validate({"worker": worker})) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [(682, 111848), (620, 112220), (682, 111848), (756, 111888), (954, 112572), (636, 111936)],
    ids=["native", "1 VM", "2 VMs", "4 VMs", "10 VMs", "20 VMs"],
)
def test_map_tasks_are_those_of_the_paper_s_table_1(files: int, expected: int) -> None:
    assert map_tasks(30 * 10**12, files, 256 * 1024 * 1024) == expected


@pytest.mark.parametrize(("dataset_bytes", "expected"), [(1000, 10), (1001, 20), (1, 10)])
def test_each_file_has_a_map_task_for_each_block_begun(dataset_bytes: int, expected: int) -> None:
    assert map_tasks(dataset_bytes, files=10, block_bytes=100) == expected


@pytest.mark.parametrize(
    ("java_options", "expected"),
    [
        ("-Xmx800m", 1024),
        ("-Xmx800m -Xms800m -Xmn256m", 1024),
        ("-Xmx1200m -Xmn256m", 1536),
        ("-XX:+UseSerialGC -Xmx3200M", 4096),
        ("-Xmx1g", 1280),
        ("-Xmx10G -Xms1g", 12_800),
        ("-Xmx256m", 512),
        ("-Xmx1m", 256),
    ],
)
def test_container_is_in_whole_steps_and_a_fifth_of_it_is_not_heap(java_options: str, expected: int) -> None:
    assert container_mb(java_options) == expected


@pytest.mark.parametrize("java_options", ["", "-Xms800m", "-XX:+UseSerialGC -Xmn256m", "-Xmxm"])
def test_options_without_a_heap_are_refused_in_words(java_options: str) -> None:
    with pytest.raises(EngineError, match="do not say how large the heap may be; add -Xmx800m or so") as caught:
        container_mb(java_options)
    assert repr(java_options) in str(caught.value)


# Files.


@pytest.mark.parametrize("host", ["client", "master", "worker1", "worker4"])
@pytest.mark.parametrize("workers", [WORKERS, TWO_A_MACHINE], ids=["flat", "node groups"])
def test_every_host_has_every_file_and_nothing_is_left_to_fill_in(host: str, workers: dict[str, Any]) -> None:
    files = configuration(hosts=hosts(workers)).files(host)
    assert set(files) == {*SITES, "topology.sh", "log4j.properties"}
    for site in SITES:
        assert read(files[site]), site
        assert "${" not in files[site]
    begin = [line.split("=")[0] for line in files["topology.sh"].splitlines()[:4]]
    assert begin == ["#!/bin/bash", "addresses", "places", "elsewhere"], "its values are set where they are used"


@pytest.mark.parametrize(
    "value", ["a < b && c > d", "</value>", "]]>", '"quoted"', "&amp;", "$HOME ${user.name} $$", "é"]
)
def test_value_is_read_as_it_was_said_whatever_is_in_it(value: str) -> None:
    said = {"dfs.replication": value, "dfs.new": value, "new.one": value}
    found = settings(configuration(settings=said))
    assert {name: found[name] for name in said} == said


@pytest.mark.parametrize("name", OF_ONE_HOST)
def test_what_belongs_to_a_host_differs_from_host_to_host(name: str) -> None:
    made = configuration()
    one, other = settings(made, "worker1")[name], settings(made, "worker2")[name]
    assert "10.0.0.3" in one or "/work/of_worker1" in one
    assert other == one.replace("10.0.0.3", "10.0.0.4").replace("of_worker1", "of_worker2") != one


def test_all_else_is_the_same_on_every_host() -> None:
    made = configuration()
    one, *others = (settings(made, host).items() for host in made.platform.hosts)
    assert {name for other in others for name, _ in one ^ other} == set(OF_ONE_HOST)


def test_everybody_finds_the_masters_by_their_addresses() -> None:
    for host in ("client", "master", "worker3"):
        found = settings(configuration(), host)
        assert found["fs.defaultFS"] == "hdfs://10.0.0.2:8020"
        assert found["dfs.namenode.http-address"] == "10.0.0.2:9870"
        assert found["yarn.resourcemanager.hostname"] == "10.0.0.2"
        assert found["mapreduce.jobhistory.address"] == "10.0.0.2:10020"


def test_data_is_on_every_disk_that_is_named() -> None:
    found = settings(configuration(hadoop={"slots": 2, "data_dirs": ["/disk1", "/disk2"]}))
    assert found["dfs.datanode.data.dir"] == "file:///disk1/hdfs,file:///disk2/hdfs"
    assert found["yarn.nodemanager.local-dirs"] == "/disk1/local,/disk2/local"


def test_data_is_below_the_host_s_folder_where_no_disk_is_named() -> None:
    found = settings(configuration())
    assert found["dfs.datanode.data.dir"] == "file:///work/of_worker1/data/hdfs"
    assert found["yarn.nodemanager.local-dirs"] == "/work/of_worker1/data/local"


def test_classpath_of_tasks_is_that_of_the_host_that_runs_them() -> None:
    """Hosts may have Hadoop in different folders; each NodeManager puts in its own."""
    found = settings(configuration())
    assert "$HADOOP_HOME/lib/*" in found["mapreduce.application.classpath"].split(",")
    assert not [name for name, value in found.items() if "/opt/of_" in value]


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("dfs.replication", "hdfs-site.xml"),
        ("fs.defaultFS", "core-site.xml"),
        ("yarn.nodemanager.resource.memory-mb", "yarn-site.xml"),
        ("mapreduce.task.io.sort.mb", "mapred-site.xml"),
        ("yarn.app.mapreduce.am.staging-dir", "mapred-site.xml"),
    ],
)
def test_platform_s_setting_wins_over_the_template_s(name: str, site: str) -> None:
    assert settings(configuration())[name] != "said"
    files = configuration(settings={name: "said"}).files("worker1")
    assert [(file, read(files[file])[name]) for file in SITES if name in read(files[file])] == [(site, "said")]


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("dfs.namenode.new", "hdfs-site.xml"),
        ("yarn.nodemanager.new", "yarn-site.xml"),
        ("mapreduce.task.new", "mapred-site.xml"),
        ("yarn.app.mapreduce.am.new", "mapred-site.xml"),
        ("hadoop.rpc.new", "core-site.xml"),
        ("ipc.client.new", "core-site.xml"),
        ("dfsnew", "core-site.xml"),
    ],
)
def test_new_setting_goes_to_the_file_that_its_first_words_name(name: str, site: str) -> None:
    files = configuration(settings={name: "said"}).files("worker1")
    assert [(file, read(files[file])[name]) for file in SITES if name in read(files[file])] == [(site, "said")]


def test_settings_of_a_platform_do_not_stay_for_the_next() -> None:
    configuration(settings={"dfs.replication": "9", "dfs.new": "said"}).files("worker1")
    found = settings(configuration())
    assert found["dfs.replication"] == "3" and "dfs.new" not in found


# What runs at once.


@pytest.mark.parametrize("said", [1, 2, 22])
def test_node_manager_has_memory_for_a_map_and_a_reduce_task_in_each_slot_and_a_master(said: int) -> None:
    found = settings(configuration(hadoop={"slots": said}))
    parts = {
        "mapreduce.map.memory.mb": "1024",
        "mapreduce.reduce.memory.mb": "1536",
        "yarn.app.mapreduce.am.resource.mb": "4096",
    }
    assert {name: found[name] for name in parts} == parts
    assert found["yarn.nodemanager.resource.memory-mb"] == str(said * (1024 + 1536) + 4096)
    assert found["yarn.nodemanager.resource.cpu-vcores"] == str(said + said + 1)


def test_memory_follows_from_the_heaps_that_a_platform_has_of_its_own() -> None:
    heaps = {
        "mapreduce.map.java.opts": "-Xmx400m",
        "mapreduce.reduce.java.opts": "-Xmx1600m",
        "yarn.app.mapreduce.am.command-opts": "-Xmx200m",
    }
    found = settings(configuration(settings=heaps))
    assert (found["mapreduce.map.memory.mb"], found["mapreduce.reduce.memory.mb"]) == ("512", "2048")
    assert found["yarn.nodemanager.resource.memory-mb"] == str(2 * (512 + 2048) + 256)
    assert found["yarn.app.mapreduce.am.job.reduce.rampup.limit"] == "0.80", "reduce tasks get their part, too"


def test_heap_of_unknown_size_is_refused_when_files_are_made() -> None:
    made = configuration(settings={"mapreduce.reduce.java.opts": "-XX:+UseSerialGC"})
    with pytest.raises(EngineError, match=r"'-XX:\+UseSerialGC' do not say how large the heap may be"):
        made.files("worker1")


def test_slots_of_the_cluster_are_those_of_its_workers_together() -> None:
    made = configuration(hadoop={"slots": 3})
    assert (made.slots, made.cluster_slots, made.workers) == (3, 12, ["worker1", "worker2", "worker3", "worker4"])
    found = settings(made)
    for name in ("job.maps", "job.reduces", "job.running.map.limit", "job.running.reduce.limit"):
        assert found[f"mapreduce.{name}"] == "12"


# What is read back from the daemons.


def test_declared_is_all_that_is_the_same_on_every_host() -> None:
    made = configuration(settings={"dfs.replication": "2", "hadoop.new": "said"})
    everywhere = set.intersection(*(set(settings(made, host).items()) for host in made.platform.hosts))
    assert made.declared() == dict(everywhere)
    assert made.declared()["dfs.replication"] == "2"
    assert made.declared()["hadoop.new"] == "said"


def test_declared_has_no_folder_and_no_address_of_a_worker_even_where_all_are_alike() -> None:
    platform = configuration().platform
    made = Configuration(
        platform,
        {host: "10.0.0.2" if host == "master" else "10.0.0.9" for host in platform.hosts},
        dict.fromkeys(platform.hosts, "/work/same"),
        dict.fromkeys(platform.hosts, "/opt/same"),
    )
    declared = made.declared()
    assert not set(declared) & set(OF_ONE_HOST)
    assert not [name for name, value in declared.items() if "same" in value or "10.0.0.9" in value]


# Places.


def test_replicas_are_kept_apart_by_machine_where_workers_share_one() -> None:
    made = configuration(hosts=hosts(TWO_A_MACHINE))
    assert made.has_node_groups
    found = settings(made)
    assert found["net.topology.impl"] == WITH_NODE_GROUPS
    assert found["net.topology.nodegroup.aware"] == "true"
    assert found["dfs.use.dfs.network.topology"] == "false"
    assert found["dfs.block.replicator.classname"].endswith(".BlockPlacementPolicyWithNodeGroup")


@pytest.mark.parametrize(
    "workers",
    [WORKERS, {**WORKERS, "machines": 4}, {**WORKERS, "machines": 4, "machines_per_rack": 2}],
    ids=["nothing said", "a machine each", "with racks"],
)
def test_platform_whose_workers_share_no_machine_is_flat(workers: dict[str, Any]) -> None:
    made = configuration(hosts=hosts(workers))
    assert not made.has_node_groups
    found = settings(made)
    assert found["net.topology.impl"] == "org.apache.hadoop.net.NetworkTopology"
    assert found["net.topology.nodegroup.aware"] == "false"
    assert found["dfs.use.dfs.network.topology"] == "true"
    assert found["dfs.block.replicator.classname"].endswith(".BlockPlacementPolicyDefault")


def test_machine_shared_with_somebody_who_is_no_worker_makes_no_node_groups() -> None:
    worker = {"ssh": "w", "roles": ["worker"], "machine": "big"}
    shared = {**hosts(worker), "master": {"ssh": "m", "roles": ["namenode"], "machine": "big"}}
    assert not configuration(hosts=shared).has_node_groups


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        (WORKERS, ["/rack", "/rack", "/rack", "/rack"]),
        ({**WORKERS, "machines": 4, "machines_per_rack": 2}, ["/rack1", "/rack1", "/rack2", "/rack2"]),
        ({**WORKERS, "machines": 2}, ["/rack/machine1", "/rack/machine2", "/rack/machine1", "/rack/machine2"]),
        (TWO_A_MACHINE, ["/rack1/machine1", "/rack2/machine2", "/rack1/machine1", "/rack2/machine2"]),
    ],
    ids=["nothing said", "racks", "machines", "both"],
)
def test_place_is_the_rack_and_the_machine_where_workers_share_one(
    workers: dict[str, Any], expected: list[str]
) -> None:
    made = configuration(hosts=hosts(workers))
    assert [made.place_of(host) for host in made.workers] == expected


# The topology script, run for real.


def places(made: Configuration, folder: Path, *addresses: str) -> list[str]:
    script = folder / "topology.sh"
    script.write_text(made.topology_script())
    ran = subprocess.run(["bash", str(script), *addresses], cwd=folder, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return ran.stdout.split()


def test_script_says_the_place_of_each_address_in_the_order_of_asking(tmp_path: Path) -> None:
    made = configuration(hosts=hosts({**WORKERS, "machines": 4, "machines_per_rack": 2}))
    assert places(made, tmp_path, "10.0.0.6", "10.0.0.3", "10.0.0.5") == ["/rack2", "/rack1", "/rack2"]
    assert places(made, tmp_path, "10.0.0.4") == ["/rack1"]


def test_script_says_the_machine_too_where_workers_share_one(tmp_path: Path) -> None:
    made = configuration(hosts=hosts(TWO_A_MACHINE))
    assert places(made, tmp_path, "10.0.0.3", "10.0.0.4", "10.0.0.5") == [
        "/rack1/machine1", "/rack2/machine2", "/rack1/machine1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("workers", "elsewhere"),
    [(WORKERS, "/elsewhere"), (TWO_A_MACHINE, "/elsewhere/elsewhere")],
    ids=["flat", "node groups"],
)
def test_stranger_is_elsewhere_and_as_deep_as_the_others(
    workers: dict[str, Any], elsewhere: str, tmp_path: Path
) -> None:
    """Hadoop refuses a network whose places are not all of one depth."""
    made = configuration(hosts=hosts(workers))
    known, *strangers = places(made, tmp_path, "10.0.0.3", "10.0.0.30", "110.0.0.3", "10x0x0x3", "")
    assert known == made.place_of("worker1")
    assert strangers == [elsewhere] * 4
    assert known.count("/") == elsewhere.count("/")


def test_script_that_is_asked_nothing_says_nothing(tmp_path: Path) -> None:
    assert places(configuration(), tmp_path) == []


def test_address_is_compared_and_never_a_command_nor_a_pattern(tmp_path: Path) -> None:
    hostile = {"worker1": "$(touch stolen)", "worker2": "*", "worker3": "a b'; touch stolen;'"}
    made = configuration(hostile, hosts=hosts({**WORKERS, "machines": 4, "machines_per_rack": 1}))
    found = places(made, tmp_path, "$(touch stolen)", "*", "a b'; touch stolen;'", "anything", "10.0.0.6")
    assert found == ["/rack1", "/rack2", "/rack3", "/elsewhere", "/rack4"]
    assert not (tmp_path / "stolen").exists()


# Masters, and what is wrong with a platform.


def test_one_master_has_both_roles_unless_the_file_says_otherwise() -> None:
    assert (configuration().namenode, configuration().resourcemanager) == ("master", "master")


def test_resourcemanager_may_have_a_host_of_its_own() -> None:
    made = configuration(hosts=hosts(yarn=["resourcemanager"]))
    assert (made.namenode, made.resourcemanager) == ("master", "yarn")
    found = settings(made)
    assert (made.addresses["master"], made.addresses["yarn"]) == ("10.0.0.2", "10.0.0.3")
    assert found["fs.defaultFS"] == "hdfs://10.0.0.2:8020"
    assert found["yarn.resourcemanager.hostname"] == "10.0.0.3"
    assert found["mapreduce.jobhistory.webapp.address"] == "10.0.0.3:19888"


def test_two_namenodes_are_refused_in_words() -> None:
    made = configuration(hosts=hosts(other=["namenode"]))
    with pytest.raises(EngineError, match="platform 'p': exactly one host must have the role 'namenode', found 2"):
        made.files("worker1")


def test_two_resourcemanagers_are_refused_in_words() -> None:
    made = configuration(hosts=hosts(one=["resourcemanager"], other=["resourcemanager"]))
    with pytest.raises(EngineError, match="exactly one host must have the role 'resourcemanager', found 2"):
        made.files("worker1")


def test_no_namenode_is_refused_in_words() -> None:
    without = {name: host for name, host in hosts().items() if name != "master"}
    with pytest.raises(EngineError, match="exactly one host must have the role 'namenode', found 0"):
        configuration(hosts=without).files("worker1")


def test_platform_that_says_nothing_of_hadoop_is_refused_with_what_to_write() -> None:
    said = (
        "platform 'p': its engine is hadoop, but its file has no key 'hadoop' with 'slots', or with 'worker' "
        r"\(cpus, memory_gib, data_disks\)"
    )
    with pytest.raises(EngineError, match=said):
        configuration(hadoop=None).files("worker1")


# Kerberos.

SERVICES = {
    "realm": "EXAMPLE.COM",
    "keytab": "/etc/k/hadoop.keytab",
    "keystore": "/etc/k/key.p12",
    "truststore": "/etc/k/trust.jks",
}
KERBEROS = {"slots": 2, "kerberos": {"connection": "bench", "krb5_conf": "/etc/k/krb5.conf", "services": SERVICES}}


def secure() -> Configuration:
    made = configuration(hadoop=KERBEROS)
    return dataclasses.replace(
        made,
        login="bench",
        principals={host: f"hadoop/{host}.example@EXAMPLE.COM" for host in made.platform.hosts},
        client_principal="runner@EXAMPLE.COM",
    )


def test_with_kerberos_everybody_is_asked_who_they_are_and_what_goes_over_the_network_is_encrypted() -> None:
    sites = secure().sites("worker1")
    assert sites["core-site.xml"]["hadoop.security.authentication"] == "kerberos"
    assert sites["core-site.xml"]["hadoop.rpc.protection"] == "privacy"
    assert sites["hdfs-site.xml"]["dfs.data.transfer.protection"] == "privacy"
    assert sites["hdfs-site.xml"]["dfs.http.policy"] == "HTTPS_ONLY"
    assert sites["hdfs-site.xml"]["dfs.permissions.enabled"] == "true"
    assert "-Djava.security.krb5.conf=/etc/k/krb5.conf" in secure().java_options


def test_nodemanagers_log_in_by_their_own_name_and_the_resourcemanager_knows_them_by_their_addresses() -> None:
    made = secure()
    assert made.sites("worker2")["yarn-site.xml"]["yarn.nodemanager.principal"] == "hadoop/worker2.example@EXAMPLE.COM"
    assert made.sites("master")["yarn-site.xml"]["yarn.nodemanager.principal"] == "hadoop/_HOST@EXAMPLE.COM"
    assert "yarn.nodemanager.principal" not in made.declared(), "it differs from host to host"
    assert made.declared()["dfs.namenode.kerberos.principal"] == "hadoop/_HOST@EXAMPLE.COM"


def test_passwords_are_in_files_of_their_own_and_in_no_setting_that_is_read_back() -> None:
    made, secrets = secure(), Secrets("of-the-stores", "of-the-web")
    files = made.files("worker1", secrets)
    assert "of-the-stores" in files["ssl-server.xml"] and "jks" not in files["ssl-server.xml"].split("truststore")[0]
    assert files["http_secret"] == "of-the-web"
    assert not [site for site in SITES if "of-the-" in files[site]]
    assert "of-the-stores" not in repr(secrets)


@pytest.mark.parametrize(
    ("principal", "rule"),
    [
        ("runner@EXAMPLE.COM", r"RULE:[1:$1@$0](runner@EXAMPLE\.COM)s/.*/bench/"),
        ("runner/edge1@EXAMPLE.COM", r"RULE:[2:$1/$2@$0](runner/edge1@EXAMPLE\.COM)s/.*/bench/"),
    ],
)
def test_one_principal_and_no_other_is_the_user_of_the_daemons(principal: str, rule: str) -> None:
    assert own_rule(principal, "bench") == rule


def test_without_kerberos_there_is_none_of_it() -> None:
    made = configuration()
    assert not made.services and "hadoop.security.authentication" not in made.declared()
    assert "ssl-server.xml" not in made.files("worker1")
