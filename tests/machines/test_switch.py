"""What is to be done so that a layout is up, from what is there. Real ones: tests/integration/test_machines.py."""

from __future__ import annotations

import pytest

from clusterbench.base.connections import Connection
from clusterbench.base.errors import MachineError
from clusterbench.base.paths import project_root
from clusterbench.machines.guests import reaching, without_machines
from clusterbench.machines.provider import Found, Guest, Mark
from clusterbench.machines.switch import planned
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.platform import Platform

CATALOG = Catalog(project_root())
VM1, VM2 = (CATALOG.platform(name) for name in ("lab_made_retail_vm1", "lab_made_retail_vm2"))
DB1, DB2 = "lab-made-retail-vm2-db1", "lab-made-retail-vm2-db2"


def there(name: str, platform: Platform = VM2, *, is_on: bool = True, cluster: str = "lab_made_retail") -> Found:
    mark = Mark(name, cluster, platform.platform, name.rpartition("-")[2], "postgresql", "retail/r1")
    return Found(name, "DC0_C0_H0", is_on, mark)


def by_name(*found: Found) -> dict[str, Found]:
    return {one.name: one for one in found}


def test_on_empty_hosts_all_are_made_and_started() -> None:
    switch = planned(VM2, {}, {})
    assert [one.name for one in switch.make] == [DB1, DB2] == switch.start
    assert switch.shut_down == [] and switch.shape == []


def test_a_layout_that_is_up_is_left_alone() -> None:
    assert planned(VM2, by_name(there(DB1), there(DB2)), {}).is_nothing


def test_the_layout_of_before_makes_room_and_what_is_there_is_started() -> None:
    other = there("lab-made-retail-vm1-db1", VM1)
    switch = planned(VM2, by_name(other, there(DB1, is_on=False), there(DB2, is_on=False)), {})
    assert switch.shut_down == ["lab-made-retail-vm1-db1"] and switch.start == [DB1, DB2] and switch.make == []


def test_a_switch_that_ended_in_its_middle_is_gone_on_with() -> None:
    switch = planned(VM2, by_name(there(DB1)), {})
    assert [one.name for one in switch.make] == [DB2] == switch.start


def test_a_machine_that_is_not_as_declared_is_shut_down_and_shaped() -> None:
    switch = planned(VM2, by_name(there(DB1), there(DB2)), {DB2: ["vCPUs 4 -> 8"]})
    assert switch.shut_down == [DB2] == switch.start and [one.name for one in switch.shape] == [DB2]


def test_machines_of_other_clusters_and_other_people_are_none_of_ours() -> None:
    others = (Found("oracle-prod", "DC0_C0_H0", True, None), there("x-db1", cluster="another"))
    assert planned(VM2, by_name(*others, there(DB1), there(DB2)), {}).is_nothing


@pytest.mark.parametrize(
    ("stranger", "whose"),
    [
        (Found(DB1, "DC0_C0_H3", False, None), "carries no mark of clusterbench"),
        (there(DB1, cluster="another"), "is of platform 'lab_made_retail_vm2' in cluster 'another'"),
        (there(DB1, VM1), "is of platform 'lab_made_retail_vm1' in cluster 'lab_made_retail'"),
    ],
)
def test_a_name_that_somebody_has_is_an_error_with_what_to_do(stranger: Found, whose: str) -> None:
    with pytest.raises(MachineError) as refused:
        planned(VM2, by_name(stranger), {})
    assert f"there is a machine '{DB1}' on DC0_C0_H" in str(refused.value) and whose in str(refused.value)
    assert "nothing was changed. Rename that machine" in str(refused.value)


def test_a_copy_that_this_run_began_and_could_not_mark_is_its_own() -> None:
    """Its worker died between copy and mark; the name was free before, which is archived."""
    unmarked = Found(DB1, "DC0_C0_H0", False, None)
    switch = planned(VM2, by_name(unmarked, there(DB2)), {}, adopted=[DB1])
    assert [one.name for one in switch.shape] == [DB1] == switch.start and switch.make == []


def connection(conn_id: str) -> Connection:
    extra = {"key_file": "/k", "no_host_key_check": True}
    return Connection(conn_id, "" if conn_id == "lab_guest" else "10.0.0.9", 22, "bench", "", "", extra)


def test_a_guest_is_reached_by_what_it_told_and_never_unchecked() -> None:
    reached = reaching(VM2, connection, {"db1": Guest("10.0.0.1", "ssh-ed25519 AAA")})
    found = reached("made_db1")
    assert (found.host, found.login) == ("10.0.0.1", "bench")
    assert found.extra == {"key_file": "/k", "host_key": "ssh-ed25519 AAA"}
    assert reached("lab_client").host == "10.0.0.9"


def test_a_machine_that_is_down_is_named_with_the_command() -> None:
    with pytest.raises(MachineError) as refused:
        reaching(VM2, connection, {})("made_db2")
    assert "the machine of host 'db2' is not up" in str(refused.value)
    assert "clusterbench machines up lab_made_retail_vm2" in str(refused.value)


def test_before_its_machines_are_up_a_platform_is_its_drivers() -> None:
    bare = without_machines(VM2)
    assert list(bare.hosts) == ["client", "etl"] and bare.neighbours == {}
    native = CATALOG.platform("lab_retail_native")
    assert without_machines(native).hosts == native.hosts


def test_no_platform_but_these_of_the_lab_needs_machines() -> None:
    made = [platform.platform for platform in CATALOG.platforms() if platform.machines]
    assert made and all(name.startswith("lab_made_") for name in made)
