"""Many hosts alike in one line, and what a platform says of its Hadoop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterbench.base.errors import SpecError
from clusterbench.base.paths import project_root
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.loading import load

CLIENT = {"ssh": "c", "roles": ["client"]}
WORKERS = {"ssh": "w", "roles": ["worker"]}


def written(worker: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {
        "platform": "p", "title": "P", "engine": "hadoop", "cluster": "c", "hadoop": {"slots": 1},
        "hosts": {"client": CLIENT, "worker": worker, "master": {"ssh": "m", "roles": ["namenode"]}}, **keys,
    }  # fmt: skip


def platform(**worker: Any) -> Platform:
    return Platform.model_validate(written({**WORKERS, **worker}))


def problems(folder: Path, data: dict[str, Any]) -> list[str]:
    """What is said of a file with ``data``, behind its path and line."""
    path = folder / "p.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    with pytest.raises(SpecError) as caught:
        load(path, Platform)
    return [problem.removeprefix(f"{path}:").split(": ", 1)[1] for problem in caught.value.problems]


# Hosts.


def test_count_stands_for_hosts_with_numbers_in_their_place_of_the_file() -> None:
    made = platform(count=3)
    assert list(made.hosts) == ["client", "worker1", "worker2", "worker3", "master"]
    assert [made.hosts[name].ssh for name in made.hosts] == ["c", "w1", "w2", "w3", "m"]
    assert made.hosts_with("worker") == ["worker1", "worker2", "worker3"]


def test_short_form_is_the_same_as_the_long_one() -> None:
    """As ``lab_hadoop2``: six workers, two on each of three machines, two machines in a rack."""
    places = [("machine1", "rack1"), ("machine2", "rack1"), ("machine3", "rack2")] * 2
    long = {
        f"worker{number}": {"ssh": f"w{number}", "roles": ["worker"], "machine": machine, "rack": rack}
        for number, (machine, rack) in enumerate(places, 1)
    }
    short = written({**WORKERS, "count": 6, "machines": 3, "machines_per_rack": 2})
    assert Platform.model_validate(short) == Platform.model_validate({**short, "hosts": {
        "client": CLIENT, **long, "master": short["hosts"]["master"],
    }})  # fmt: skip


def test_nothing_is_said_of_machines_and_racks_that_were_not_named() -> None:
    assert {(host.machine, host.rack) for host in platform(count=3).hosts.values()} == {(None, None)}
    assert {host.rack for host in platform(count=3, machines=2).hosts.values()} == {None}


@pytest.mark.parametrize(
    ("count", "machines", "expected"),
    [(1, 1, [1]), (4, 2, [1, 2, 1, 2]), (5, 3, [1, 2, 3, 1, 2]), (2, 3, [1, 2]), (3, 1, [1, 1, 1])],
)
def test_workers_are_spread_over_machines_in_turn(count: int, machines: int, expected: list[int]) -> None:
    made = platform(count=count, machines=machines)
    assert [made.hosts[name].machine for name in made.hosts_with("worker")] == [f"machine{n}" for n in expected]


@pytest.mark.parametrize(
    ("machines", "per_rack", "expected"),
    [(4, 2, [1, 1, 2, 2, 1, 1]), (4, 1, [1, 2, 3, 4, 1, 2]), (4, 9, [1] * 6), (5, 3, [1, 1, 1, 2, 2, 1])],
)
def test_racks_are_filled_one_after_the_other(machines: int, per_rack: int, expected: list[int]) -> None:
    made = platform(count=6, machines=machines, machines_per_rack=per_rack)
    assert [made.hosts[name].rack for name in made.hosts_with("worker")] == [f"rack{n}" for n in expected]


def test_workers_of_one_machine_are_in_one_rack() -> None:
    """The paper's largest platform: 20 workers a host."""
    made = platform(count=636, machines=32, machines_per_rack=16)
    places = {(host.machine, host.rack) for host in made.hosts.values() if host.machine}
    assert len(made.hosts_with("worker")) == 636
    assert len(places) == len({machine for machine, _ in places}) == 32
    assert {rack for _, rack in places} == {"rack1", "rack2"}


def test_platform_of_the_lab_has_two_workers_a_machine() -> None:
    made = Catalog(project_root()).platform("lab_hadoop2")
    workers = [made.hosts[name] for name in made.hosts_with("worker")]
    assert [host.ssh for host in workers] == [f"lab_worker{number}" for number in range(1, 7)]
    assert [host.machine for host in workers] == ["machine1", "machine2", "machine3"] * 2


@pytest.mark.parametrize("key", ["count", "machines", "machines_per_rack"])
@pytest.mark.parametrize("number", [0, -1, 10_001, 1.5, True, "3", None, [3]])
def test_number_out_of_range_is_refused_in_words(key: str, number: object, tmp_path: Path) -> None:
    worker = {**WORKERS, "count": 3, "machines": 2, "machines_per_rack": 2, key: number}
    said = f"hosts: worker.{key}: must be a whole number from 1 to 10000, found {number!r}"
    assert problems(tmp_path, written(worker)) == [said]


def test_largest_number_is_allowed() -> None:
    assert len(platform(count=10_000).hosts) == 10_002


def test_racks_without_machines_are_refused_in_words(tmp_path: Path) -> None:
    said = (
        "hosts: worker.machines_per_rack: has no effect without 'machines', the number of physical hosts; add it, "
        "or remove this key"
    )
    assert problems(tmp_path, written({**WORKERS, "count": 3, "machines_per_rack": 2})) == [said]


@pytest.mark.parametrize("key", ["machines", "machines_per_rack"])
def test_machines_of_a_single_host_are_an_unknown_key(key: str, tmp_path: Path) -> None:
    (said,) = problems(tmp_path, written({**WORKERS, key: 2}))
    assert said.startswith(f"hosts.worker.{key}: unknown key;")


def test_several_clients_are_refused_also_in_the_short_form(tmp_path: Path) -> None:
    data = written(WORKERS)
    data["hosts"]["client"] = {**CLIENT, "count": 2}
    (said,) = problems(tmp_path, data)
    assert said.startswith("hosts: exactly one host must have the role 'client'")
    assert said.endswith("found 2 (client1, client2)")


# Hadoop.


@pytest.mark.parametrize("hadoop", [{}, {"home": "/opt/hadoop"}, {"daemon_heap_mb": 200, "data_dirs": ["/disk1"]}])
def test_hadoop_whose_slots_nobody_knows_is_refused_with_what_to_write(hadoop: dict[str, Any], tmp_path: Path) -> None:
    said = "hadoop: name 'worker' (cpus, memory_gib, data_disks), from which slots follow, or 'slots'"
    assert problems(tmp_path, written(WORKERS, hadoop=hadoop)) == [said]


@pytest.mark.parametrize(
    "hadoop",
    [{"slots": 3}, {"worker": {"cpus": 10, "memory_gib": 60.25, "data_disks": 5}},
     {"slots": 20, "worker": {"cpus": 40, "memory_gib": 241, "data_disks": 20}}],
    ids=["slots", "worker", "both"],
)  # fmt: skip
def test_slots_or_the_worker_they_follow_from_are_enough(hadoop: dict[str, Any]) -> None:
    made = Platform.model_validate(written(WORKERS, hadoop=hadoop)).hadoop
    assert made is not None
    assert (made.slots, made.worker is not None) == (hadoop.get("slots"), "worker" in hadoop)
    assert (made.home, made.data_dirs, made.java_options) == ("hadoop", [], "")


@pytest.mark.parametrize(
    ("hadoop", "said"),
    [
        ({"slots": 0}, "hadoop.slots: must be greater than or equal to 1, found 0"),
        ({"slots": "3"}, "hadoop.slots: must be a whole number, found '3'"),
        ({"slots": 1, "hom": "x"}, "hadoop.hom: unknown key; did you mean 'home'?"),
        ({"slots": 1, "worker": {"cpus": 4, "memory_gib": 1}}, "hadoop.worker.data_disks: is missing; add it"),
        ({"slots": 1, "data_dirs": ["relative"]}, "hadoop.data_dirs.0: "),
        ({"slots": 1, "data_dirs": ["/a,/b"]}, "hadoop.data_dirs.0: "),
        ({"slots": 1, "data_dirs": ["/a b"]}, "hadoop.data_dirs.0: "),
    ],
)
def test_mistake_about_hadoop_is_told_with_its_field(hadoop: dict[str, Any], said: str, tmp_path: Path) -> None:
    (found,) = problems(tmp_path, written(WORKERS, hadoop=hadoop))
    assert found.startswith(said)


def test_platform_of_another_engine_says_nothing_of_hadoop() -> None:
    data = written(WORKERS, engine="postgres")
    del data["hadoop"]
    assert Platform.model_validate(data).hadoop is None


def test_a_host_beside_those_that_a_count_stands_for_is_refused() -> None:
    hosts = {
        "client": {"ssh": "c", "roles": ["client", "namenode"]},
        "worker": {"ssh": "w", "roles": ["worker"], "count": 3},
        "worker2": {"ssh": "special", "roles": ["worker"]},
    }
    with pytest.raises(ValueError, match="'worker2' stands twice: by itself, and as one of those that 'count' stands"):
        Platform.model_validate(
            {"platform": "p", "title": "P", "engine": "hadoop", "cluster": "c", "hosts": hosts, "hadoop": {"slots": 1}}
        )
