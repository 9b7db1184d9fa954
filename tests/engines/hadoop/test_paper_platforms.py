"""The paper's six platforms are those of its Table 1, and docs/hadoop.md says what is in the templates."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import product
from xml.etree import ElementTree as ET

import pytest

from clusterbench.base.paths import project_root
from clusterbench.engines.hadoop import configuration
from clusterbench.engines.hadoop.configuration import SITES, Configuration
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.platform import Hadoop

CATALOG = Catalog(project_root())
TABLE_1 = CATALOG.published("terasort").tables[0]
ROWS = {
    "hadoop_native": "native",
    "hadoop_vm1": "1 VM",
    "hadoop_vm2": "2 VMs",
    "hadoop_vm4": "4 VMs",
    "hadoop_vm10": "10 VMs",
    "hadoop_vm20": "20 VMs",
}
MULTI_VM = [name for name in ROWS if name not in ("hadoop_native", "hadoop_vm1")]
DATASET_BYTES = 30 * 10**12
PAPERS_PARAMETERS = 50
DOCS = (project_root() / "docs" / "hadoop.md").read_text()
LAB = CATALOG.platform("lab_hadoop1")


def templates() -> dict[str, str]:
    found = {}
    for site in SITES:
        for entry in ET.parse(project_root() / "include" / "hadoop" / site).getroot().iter("property"):
            found[entry.findtext("name") or ""] = entry.findtext("value") or ""
    return found


TEMPLATES = templates()


def configured(name: str) -> Configuration:
    platform = CATALOG.platform(name)
    addresses = {host: f"10.{n // 256}.{n % 256}.1" for n, host in enumerate(platform.hosts)}
    directories, homes = dict.fromkeys(platform.hosts, "/work"), dict.fromkeys(platform.hosts, "/opt/hadoop")
    return Configuration(platform, addresses, directories, homes)


def printed(name: str) -> dict[str, float]:
    return dict(zip(TABLE_1.columns, TABLE_1.rows[ROWS[name]], strict=True))


def hadoop_of(platform: Platform) -> Hadoop:
    assert platform.hadoop is not None
    return platform.hadoop


def table(title: str) -> list[list[str]]:
    """Cells of the rows of the first table of docs/hadoop.md whose head begins with ``title``."""
    lines = DOCS[DOCS.index(f"| {title} |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


PARAMETERS = table("paper's name")
OURS = table("settings")


def plain(cell: str) -> str:
    return cell.replace("`", "")


def expanded(text: str) -> list[str]:
    """``a.{b,c}.d`` is ``a.b.d`` and ``a.c.d``."""
    parts = [part.split(",") for part in re.split(r"[{}]", text)]
    return ["".join(chosen) for chosen in product(*parts)]


def named(cell: str) -> list[str]:
    return [name for code in re.findall(r"`([^`]+)`", cell) for name in expanded(code)]


# Platforms.


@pytest.mark.parametrize("name", ROWS)
def test_a_platform_has_the_workers_of_table_1(name: str) -> None:
    assert len(configured(name).workers) == printed(name)["workers"]


@pytest.mark.parametrize("name", ROWS)
def test_a_worker_has_the_resources_of_table_1(name: str) -> None:
    hadoop = hadoop_of(CATALOG.platform(name))
    assert hadoop.worker is not None
    found = (hadoop.worker.cpus, hadoop.worker.memory_gib, hadoop.worker.data_disks)
    assert found == tuple(printed(name)[column] for column in ("cpus", "memory_gib", "data_disks"))
    assert len(set(hadoop.data_dirs)) == hadoop.worker.data_disks


@pytest.mark.parametrize("name", ROWS)
def test_slots_are_those_of_table_1(name: str) -> None:
    made = configured(name)
    assert made.slots == printed(name)["worker_slots"]
    assert made.cluster_slots == printed(name)["cluster_slots"]


@pytest.mark.parametrize("name", ROWS)
def test_terasort_has_the_map_tasks_of_table_1(name: str) -> None:
    block_bytes = int(TEMPLATES["dfs.blocksize"])
    tasks = configuration.map_tasks(DATASET_BYTES, configured(name).cluster_slots, block_bytes)
    assert tasks == printed(name)["map_tasks_30tb"]


def test_only_one_vm_per_host_was_tuned_away_from_the_rule() -> None:
    assert [name for name in ROWS if hadoop_of(CATALOG.platform(name)).slots is not None] == ["hadoop_vm1"]


@pytest.mark.parametrize("name", ROWS)
def test_a_worker_has_the_memory_for_its_containers(name: str) -> None:
    made = configured(name)
    memory_mb = int(made.sites(made.workers[0])["yarn-site.xml"]["yarn.nodemanager.resource.memory-mb"])
    assert memory_mb < printed(name)["memory_gib"] * 1024


@pytest.mark.parametrize("name", ROWS)
def test_the_client_is_on_the_machine_of_the_namenode(name: str) -> None:
    made = configured(name)
    assert made.platform.client == made.namenode
    assert (made.namenode == made.resourcemanager) == (name not in MULTI_VM)
    assert not {made.namenode, made.resourcemanager} & set(made.workers)


@pytest.mark.parametrize("name", MULTI_VM)
def test_a_rack_has_two_machines_and_vms_are_spread_evenly_over_them(name: str) -> None:
    made = configured(name)
    machines = defaultdict(set)
    for host in made.platform.hosts.values():
        machines[host.rack].add(host.machine)
    workers = Counter(made.machine_of(host) for host in made.workers)
    assert made.has_node_groups
    assert (len(machines), {len(found) for found in machines.values()}) == (16, {2})
    assert (len(workers), max(workers.values()) - min(workers.values())) == (32, 1)


@pytest.mark.parametrize("name", MULTI_VM)
def test_a_machine_has_no_more_vms_than_its_platform_says(name: str) -> None:
    hosts = CATALOG.platform(name).hosts.values()
    assert max(Counter(host.machine for host in hosts).values()) == int(name.removeprefix("hadoop_vm"))


@pytest.mark.parametrize("name", ["hadoop_native", "hadoop_vm1"])
def test_with_one_worker_per_host_all_are_in_one_rack(name: str) -> None:
    made = configured(name)
    assert not made.has_node_groups
    assert {made.place_of(host) for host in made.workers} == {"/rack"}


def test_on_20_vms_per_host_a_reduce_fetches_from_five_maps_at_once() -> None:
    name = "mapreduce.reduce.shuffle.parallelcopies"
    found = {key: configured(key).declared()[name] for key in ROWS}
    assert found == dict.fromkeys(ROWS, "20") | {"hadoop_vm20": "5"}


# The page about them.


def test_the_page_has_all_of_the_papers_parameters() -> None:
    old = [plain(row[0]) for row in PARAMETERS]
    assert len(old) == len(set(old)) == PAPERS_PARAMETERS
    assert f"All {PAPERS_PARAMETERS} that" in DOCS


@pytest.mark.parametrize("row", PARAMETERS, ids=lambda row: plain(row[0]))
def test_what_the_page_says_of_a_parameter_is_so(row: list[str]) -> None:
    _, today, _, full, laptop, why = row
    name, value = plain(today), plain(full)
    if name == "gone":
        assert (full, laptop) == ("–", "–")
        assert why.startswith("nothing: ") or named(why)
    elif name in Hadoop.model_fields:
        assert {str(getattr(hadoop_of(CATALOG.platform(key)), name)) for key in ROWS} == {value}
        assert plain(laptop) == str(getattr(hadoop_of(LAB), name))
    else:
        assert TEMPLATES[name] == value
        assert (value if laptop == "same" else plain(laptop)) == LAB.settings.get(name, value)


def test_what_replaced_a_parameter_is_in_the_templates() -> None:
    replacing = [name for row in PARAMETERS if row[1] == "gone" for name in named(row[-1])]
    assert replacing
    assert [name for name in replacing if name not in TEMPLATES] == []


def test_every_setting_of_the_templates_and_of_the_lab_is_on_the_page() -> None:
    said = {name for row in PARAMETERS for name in named(row[1])} | {name for row in OURS for name in named(row[0])}
    assert sorted(set(TEMPLATES) - said) == []
    assert sorted(set(LAB.settings) - said) == []


def test_every_file_that_the_page_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", DOCS)
    assert links
    assert [link for link in links if not (project_root() / "docs" / link).exists()] == []
