"""Machines of a vCenter (govmomi's simulator, by vSphere's own API), whose guests are hosts of the lab."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pyVmomi import vim

from clusterbench.base.connections import Connection, Connections
from clusterbench.base.errors import MachineAwayError, MachineError
from clusterbench.machines import switch
from clusterbench.machines import vsphere_read as read
from clusterbench.machines.hypervisors import hypervisor_of
from clusterbench.machines.provider import Hypervisor
from clusterbench.machines.vsphere import VSphere
from clusterbench.run import machines, steps
from clusterbench.run.doctor import machines as doctor
from clusterbench.run.run import Run, connected
from clusterbench.spec.catalog import project_catalog
from clusterbench.spec.machine_layout import Disk, layout
from clusterbench.spec.platform import Platform
from clusterbench_lab import Lab
from tests.integration.helpers import measured_whole, new_run, wait_for
from tests.lab.looking import command_lines, files_with_secrets, secrets_of

pytestmark = [pytest.mark.lab, pytest.mark.long]
VM1, VM2 = (project_catalog().platform(f"lab_made_retail_vm{count}") for count in (1, 2))
RUN = "retail/test"


@pytest.fixture(scope="module")
def vcenter(lab: Lab) -> Lab:
    lab.up(airflow=False, hypervisor=True)
    return lab


@pytest.fixture
def there(vcenter: Lab, connections: Connections) -> Iterator[Connections]:
    """Connections to a vCenter in which no machine of ours is left afterwards."""
    yield connections
    with opened(connections) as hypervisor:
        left = list(ours(hypervisor))
        hypervisor.shut_down(left, 60)
        for platform in (VM1, VM2):
            hypervisor.unbind(platform.platform, left)
        hypervisor.delete(left)


def opened(connections: Connections, platform: Platform = VM2) -> Any:
    assert platform.machines is not None
    return hypervisor_of(platform.machines, connections)


def up(hypervisor: Hypervisor, platform: Platform, run: str = RUN) -> dict[str, Any]:
    switch.bring_up(platform, hypervisor, run)
    return dict(switch.await_guests(platform, hypervisor))


def test_the_hypervisors_password_is_in_private_files_and_on_no_command_line(vcenter: Lab) -> None:
    password = secrets_of(vcenter)["vcenter_password"]
    found = {path for path, names in files_with_secrets(vcenter).items() if "vcenter_password" in names}
    assert {path.name for path in found} == {"credentials.json", "connections.json", "password"}
    assert not [path for path in found if path.stat().st_mode & 0o077]
    assert not [path for path, command in command_lines() if password in command]


def ours(hypervisor: Hypervisor) -> dict[str, Any]:
    return {name: one for name, one in hypervisor.look().items() if one.mark}


def is_on(hypervisor: Hypervisor) -> list[str]:
    return sorted(one.name for one in hypervisor.look().values() if one.is_on and one.mark)


def answers(address: str) -> bool:
    try:
        socket.create_connection((address, 2222), timeout=1).close()
    except OSError:
        return False
    return True


def test_layouts_take_turns_and_what_is_down_has_no_server_left(there: Connections) -> None:
    with opened(there) as hypervisor:
        first = up(hypervisor, VM2)
        with connected(VM2, there, {}) as (fleet, (engine, beside)):
            assert fleet.run(["db1", "db2"], "echo $CLUSTERBENCH_ADDRESS")["db2"].output.strip() == first["db2"].address
            assert engine.facts()["version"] == beside.facts()["version"]
        up(hypervisor, VM1)
        assert is_on(hypervisor) == ["lab-made-retail-vm1-db1"]
        for guest in first.values():
            wait_for(lambda guest=guest: not answers(guest.address), "its sshd is gone")
        again = up(hypervisor, VM2)
        assert is_on(hypervisor) == ["lab-made-retail-vm2-db1", "lab-made-retail-vm2-db2"]
        assert again == first, "a machine that was kept is the same host again, with its data"
        assert switch.bring_up(VM2, hypervisor, RUN).is_nothing


def test_what_the_vcenter_has_is_what_is_declared_and_a_change_by_hand_is_put_right(there: Connections) -> None:
    with opened(there) as hypervisor:
        up(hypervisor, VM2)
        assert isinstance(hypervisor, VSphere)
        vm = read.machines(hypervisor.session)["lab-made-retail-vm2-db1"].vm
        assert (vm.config.hardware.numCPU, vm.config.hardware.memoryMB, vm.config.memoryAllocation.reservation) == (
            8,
            960,
            960,
        )
        assert vm.runtime.host.name == "DC0_C0_H0" and vm.config.annotation.startswith("Made by clusterbench.")
        rules = [rule.name for rule in vm.runtime.host.parent.configurationEx.rule]
        assert rules == ["clusterbench lab_made_retail_vm2 DC0_C0_H0"]
        ended(vm.PowerOffVM_Task())
        ended(vm.ReconfigVM_Task(vim.vm.ConfigSpec(numCPUs=2, memoryMB=512)))
        assert hypervisor.differs(layout(VM2)) == {
            "lab-made-retail-vm2-db1": ["vCPUs 2 -> 8", "MiB of memory 512 -> 960"],
        }
        done = switch.bring_up(VM2, hypervisor, RUN)
        assert [one.name for one in done.shape] == ["lab-made-retail-vm2-db1"] == done.start
        assert hypervisor.differs(layout(VM2)) == {}


def ended(task: Any) -> None:
    while task.info.state in ("queued", "running"):
        time.sleep(0.05)
    assert task.info.state == "success", task.info.error


def test_pinned_vcpus_nodes_disks_and_networks_are_set(there: Connections) -> None:
    (wanted, _) = layout(VM2)
    special = dataclasses.replace(
        wanted,
        prefer_ht=True,
        numa_node=1,
        processors=(0, 2, 4, 6, 8, 10, 12, 14),
        networks=("VM Network", "DC0_DVPG0"),
        disks=(Disk("virtual", "LocalDS_0", 1), Disk("virtual", "LocalDS_0", 1)),
        datastore="LocalDS_0",
    )
    mark = switch.Mark(special.name, VM2.cluster, VM2.platform, special.host, special.template, RUN)
    with opened(there) as hypervisor:
        assert isinstance(hypervisor, VSphere)
        hypervisor.make([special], {special.name: mark})
        vm = read.machines(hypervisor.session)[special.name].vm
        options = {option.key: option.value for option in vm.config.extraConfig}
        assert (options["numa.vcpu.preferHT"], options["numa.nodeAffinity"]) == ("TRUE", "1")
        assert list(vm.config.cpuAffinity.affinitySet) == list(special.processors)
        cards = [each for each in vm.config.hardware.device if isinstance(each, vim.vm.device.VirtualEthernetCard)]
        assert len(cards) == 2
        disks = [each for each in vm.config.hardware.device if isinstance(each, vim.vm.device.VirtualDisk)]
        assert [disk.capacityInKB for disk in disks[1:]] == [10**9 // 1024] * 2
        assert hypervisor.differs([special]) == {}
        hypervisor.shape([special], {special.name: mark})
        assert len(read.machines(hypervisor.session)[special.name].vm.config.hardware.device) == len(
            vm.config.hardware.device
        )


def test_a_template_s_snapshot_is_what_is_copied(there: Connections) -> None:
    """Data that all layouts share is made once, in the template."""
    assert VM2.machines is not None
    template = VM2.machines.template.model_copy(update={"snapshot": "data"})
    shared = VM2.model_copy(update={"machines": VM2.machines.model_copy(update={"template": template})})
    with opened(there) as hypervisor:
        assert isinstance(hypervisor, VSphere)
        with pytest.raises(MachineError, match=r"machines\.template\.snapshot: 'postgresql' has no snapshot 'data'"):
            switch.bring_up(shared, hypervisor, RUN)
        vm = read.inventory(hypervisor.session).machines["postgresql"]
        ended(vm.CreateSnapshot_Task("data", "", False, False))
        try:
            assert list(up(hypervisor, shared)) == ["db1", "db2"]
        finally:
            ended(vm.RemoveAllSnapshots_Task())


def test_a_dry_run_says_every_call_and_makes_none(there: Connections) -> None:
    assert VM2.machines is not None
    calls: list[str] = []
    with hypervisor_of(VM2.machines, there, calls.append) as dry:
        before = dry.look()
        switch.bring_up(VM2, dry, RUN)
        assert dry.look() == before
    assert calls[0] == "CloneVM_Task('postgresql', name='lab-made-retail-vm2-db1', host='DC0_C0_H0')"
    assert "ReconfigVM_Task('lab-made-retail-vm2-db2', 8 vCPUs (8 a socket), 960 MiB, all reserved)" in calls
    assert calls[-1] == "PowerOnVM_Task('lab-made-retail-vm2-db2')" and len(calls) == 9


def test_what_is_not_ours_is_never_touched(there: Connections) -> None:
    with opened(there) as hypervisor:
        assert isinstance(hypervisor, VSphere)
        source = read.inventory(hypervisor.session).machines["DC0_C0_RP0_VM0"]
        where = vim.vm.RelocateSpec(host=source.runtime.host, pool=source.resourcePool)
        ended(source.CloneVM_Task(source.parent, "lab-made-retail-vm2-db2", vim.vm.CloneSpec(location=where)))
        stranger = read.machines(hypervisor.session)["lab-made-retail-vm2-db2"]
        try:
            with pytest.raises(
                MachineError, match=r"there is a machine 'lab-made-retail-vm2-db2' on .* no mark of cluster"
            ):
                switch.bring_up(VM2, hypervisor, RUN)
            switch.release(VM2, hypervisor, RUN, [])
            assert read.machines(hypervisor.session)["lab-made-retail-vm2-db2"].found == stranger.found
            assert "lab-made-retail-vm2-db1" not in hypervisor.look(), "nothing was made before the name was looked at"
        finally:
            if stranger.found.is_on:
                ended(stranger.vm.PowerOffVM_Task())
            ended(stranger.vm.Destroy_Task())


def test_release_leaves_all_as_it_was_found(there: Connections) -> None:
    with opened(there) as hypervisor:
        up(hypervisor, VM1, "retail/before")
        hypervisor.mark({name: dataclasses.replace(one.mark, held_by="") for name, one in ours(hypervisor).items()})
        was_on = is_on(hypervisor)
        up(hypervisor, VM2)
        switch.release(VM2, hypervisor, RUN, was_on)
        assert is_on(hypervisor) == was_on == ["lab-made-retail-vm1-db1"]
        assert sorted(name for name, one in hypervisor.look().items() if one.mark) == [
            *("lab-made-retail-vm1-db1", "lab-made-retail-vm2-db1", "lab-made-retail-vm2-db2"),
        ], "what was made is kept, with its data"
        assert isinstance(hypervisor, VSphere)
        (cluster,) = read.clusters_of(read.inventory(hypervisor.session).hosts.values())
        assert [rule.name for rule in cluster.configurationEx.rule] == ["clusterbench lab_made_retail_vm1 DC0_C0_H0"]
        assert not any("vm2" in group.name for group in cluster.configurationEx.group)


def test_only_what_this_run_has_made_is_deleted(there: Connections) -> None:
    assert VM2.machines is not None and VM1.machines is not None
    deleting = VM2.model_copy(update={"machines": VM2.machines.model_copy(update={"afterwards": "delete"})})
    with opened(there) as hypervisor:
        up(hypervisor, deleting, "retail/first")
        switch.release(deleting, hypervisor, "retail/second", [])
        assert "lab-made-retail-vm2-db1" in hypervisor.look()
        switch.release(deleting, hypervisor, "retail/first", [])
        assert not any(one.mark for one in hypervisor.look().values())


KILLED = """
import sys, time
from pathlib import Path
from clusterbench.base.connections import from_file
from clusterbench.run import machines
from clusterbench.run.run import Run
from clusterbench.spec.catalog import project_catalog
run = Run("retail", sys.argv[2], from_file(Path(sys.argv[1])))
machines.bring_up(run, project_catalog().platform("lab_made_retail_vm2"))
"""


@pytest.mark.parametrize("moment", ["CloneVM_Task", "ReconfigVM_Task('lab-made-retail-vm2-db1', 8", "PowerOnVM_Task"])
def test_a_worker_that_is_killed_in_the_middle_of_a_switch_loses_nothing(
    there: Connections, vcenter: Lab, moment: str
) -> None:
    """kill -9 at a copy, before it is marked, and while machines start; another worker goes on."""
    run = new_run(there, "retail")
    command = [sys.executable, "-c", "import logging; logging.basicConfig(level=20)\n" + KILLED]
    worker = subprocess.Popen(
        [*command, str(vcenter.layout.connections_file), run.run_id],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    assert worker.stderr is not None
    for line in worker.stderr:
        if moment in line:
            worker.send_signal(signal.SIGKILL)
            break
    assert worker.wait() == -signal.SIGKILL
    with opened(there) as hypervisor:
        machines.bring_up(run, VM2)
        assert is_on(hypervisor) == ["lab-made-retail-vm2-db1", "lab-made-retail-vm2-db2"]
        machines.give_back(run, VM2)
        assert is_on(hypervisor) == []


def test_machines_that_a_run_of_another_installation_holds_are_left_to_it(there: Connections) -> None:
    """Its client is another host, so its note cannot be seen here; its mark can."""
    with opened(there) as hypervisor:
        up(hypervisor, VM1, "retail/theirs")
        with pytest.raises(MachineError) as refused:
            switch.bring_up(VM2, hypervisor, RUN)
        assert "is held by run retail/theirs: nothing was changed" in str(refused.value)
        assert "clusterbench machines down lab_made_retail_vm1" in str(refused.value)
        assert is_on(hypervisor) == ["lab-made-retail-vm1-db1"]
        switch.release(VM1, hypervisor, "retail/theirs", [])
        switch.bring_up(VM2, hypervisor, RUN)


def test_doctor_says_what_is_there_and_what_is_down(there: Connections) -> None:
    found = list(doctor.examine(VM2, there))
    assert [(one.verdict, one.found.partition(":")[0]) for one in found] == [
        ("good", "everything that 2 machines need exists"),
        ("look", "down, as usual between runs"),
    ]
    assert not doctor.are_up(VM2, there)
    assert VM2.machines is not None
    other = VM2.machines.model_copy(update={"hosts": {"server": "esx"}})
    (first, *_) = doctor.examine(VM2.model_copy(update={"machines": other}), there)
    assert first.verdict == "bad" and first.found.startswith("machines.hosts.server: no host is called 'esx'")


def wrong(connections: Connections, **changes: Any) -> Connections:
    def look_up(conn_id: str) -> Connection:
        found = connections(conn_id)
        return dataclasses.replace(found, **changes) if conn_id == "lab_vcenter" else found

    return look_up


def test_what_is_wrong_with_a_vcenter_is_told_in_words(there: Connections) -> None:
    refused = [
        (
            {"password": "x"},
            MachineError,
            "the login 'clusterbench' was refused; correct login or password of its connection",
        ),
        (
            {"extra": {}},
            MachineError,
            "its certificate is not signed by who is known here .* put the certificate of its signer",
        ),
        (
            {"extra": {"ca": "nonsense"}},
            MachineError,
            "'ca' in the extra of its connection is not a certificate in PEM",
        ),
        ({"port": 1}, MachineAwayError, r"vCenter lab_vcenter \(.*:1\): cannot be reached to log in: .*refused"),
    ]
    for changes, kind, said in refused:
        with pytest.raises(kind, match=said), opened(wrong(there, **changes)):
            pass


def test_what_is_missing_there_is_told_all_at_once_before_anything_is_made(there: Connections) -> None:
    assert VM2.machines is not None
    lacking = {
        "template": VM2.machines.template.model_copy(update={"name": "postgresq"}),
        "hosts": {"server": "DC0_C0_H9"},
        "networks": ["gNet"],
        "datastore": "fast",
        "folder": "bench",
    }
    platform = VM2.model_copy(
        update={"machines": VM2.machines.model_copy(update=lacking), "may": ["restart"]},
    )
    with opened(there) as hypervisor, pytest.raises(MachineError) as refused:
        switch.bring_up(platform, hypervisor, RUN)
    said = str(refused.value)
    assert "machines.template.name: no machine or template is called 'postgresq'; did you mean 'postgresql'?" in said
    assert "machines.hosts.server: no host is called 'DC0_C0_H9'; did you mean 'DC0_C0_H" in said
    assert "machines.networks: no network is called 'gNet'" in said and "no datastore is called 'fast'" in said
    assert "no folder is called 'bench'" in said and "write 'may: [restart, switch_machines]'" in said


def test_a_guest_with_another_key_than_the_hypervisor_told_is_not_talked_to(there: Connections) -> None:
    from clusterbench.base.errors import HostError
    from clusterbench.hosts.fleet import Fleet
    from clusterbench.machines.guests import reaching

    with opened(there) as hypervisor:
        guests = up(hypervisor, VM2)
    swapped = {"db1": dataclasses.replace(guests["db1"], host_key=guests["db2"].host_key), "db2": guests["db2"]}
    with Fleet.of(VM2, reaching(VM2, there, swapped)) as fleet, pytest.raises(HostError, match="not the pinned one"):
        fleet.run(["db1"], "true")


def whole_run(run: Run, **choices: Any) -> None:
    steps.open_run(run, {"scale": "smoke", **choices}, {"by": "test"})
    for platform in run.plan().order:
        measured_whole(run, platform)
    steps.summarise(run)
    steps.validate_results(run)
    steps.write_report(run)


def test_a_run_walks_through_its_layouts_and_shows_what_the_hypervisor_saw(
    there: Connections,
) -> None:
    run = new_run(there, "retail")
    whole_run(run, platforms=[VM1.platform, VM2.platform], sweeps=["sort_memory"])
    assert sorted(run.plan().order) == [VM1.platform, VM2.platform]
    records = run.archive.trials()
    assert {record.outcome for record in records} == {"completed"}
    for record in records:
        view = run.archive.need_json(f"trials/{record.trial.platform}/{record.trial.id}/hypervisor.json")
        assert view["interval_s"] == 20 and view["covered"] > 0.9
        assert list(view["hosts"]) == ["server"] and set(view["machines"]) >= {"db1"}
        assert all("cpu_ready_percent" in told for told in view["machines"].values())
    for platform in (VM1, VM2):
        known = run.archive.need_json(f"platforms/{platform.platform}/machines/up.json")
        assert known["hosts"]["DC0_C0_H0"]["model"] == "VMware Virtual Platform"
    report = (run.archive.store.get(f"{run.archive.prefix}report.html") or b"").decode()
    assert "What the hypervisor saw" in report and "DC0_C0_H0" in report
    with opened(there) as hypervisor:
        assert is_on(hypervisor) == []


def test_machines_past_their_budget_measure_nothing_more(there: Connections) -> None:
    run = new_run(there, "retail")
    steps.open_run(run, {"scale": "smoke", "platforms": [VM2.platform], "sweeps": ["sort_memory"]}, {"by": "test"})
    run.archive.put_json(
        f"platforms/{VM2.platform}/machines/begun.json", {"was_on": [], "making": [], "at": "2026-01-01T00:00:00+00:00"}
    )
    trial = run.plan().trials[VM2.platform][0]
    record = steps.measure(run, VM2.platform, trial.id)
    assert record.outcome == "not_applicable" and "their budget is 12 hours" in record.reason


def test_a_layout_that_somebody_has_shut_down_meanwhile_is_released_at_once(there: Connections) -> None:
    """Its hosts would be waited for in vain: nothing is left there to put back."""
    run = new_run(there, "retail")
    steps.open_run(run, {"scale": "smoke", "platforms": [VM2.platform], "sweeps": ["sort_memory"]}, {"by": "test"})
    steps.take_cluster(run, VM2.platform)
    steps.bring_up_machines(run, VM2.platform)
    steps.set_up_cluster(run, VM2.platform)
    with opened(there) as hypervisor:
        hypervisor.shut_down(list(ours(hypervisor)), 60)
        steps.release_cluster(run, VM2.platform)
        assert {one.mark.held_by for one in ours(hypervisor).values()} == {""}
    steps.release_cluster(run, VM2.platform)  # once more does no harm
