"""Machines that are booted again, on a host that boots a systemd."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clusterbench.base.errors import HostError
from clusterbench.hosts import reboot
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.platform import Platform
from tests.field.conftest import needs_field
from tests.field.database import SERVICE
from tests.field.world import PLATFORM, Field, field
from tests.integration.helpers import wait_for

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(600), needs_field]


@pytest.fixture(scope="module")
def world() -> Iterator[Field]:
    with field(may=[*PLATFORM["may"], "reboot"]) as made:
        yield made


@pytest.fixture
def fleet(world: Field) -> Iterator[Fleet]:
    with Fleet.of(Platform.model_validate(world.platform), world.connections()) as made:
        yield made


def boot_of(fleet: Fleet, host: str = "db1") -> str:
    return reboot.boots(fleet, {host: []})[host].id


def test_a_machine_is_booted_again_and_has_what_it_had(world: Field, fleet: Fleet, monkeypatch: Any) -> None:
    monkeypatch.setattr(reboot, "ASK_EVERY_S", 1)
    folders = {"db1": [str(world.database.data)]}
    before = reboot.boots(fleet, folders)
    took = reboot.reboot(fleet, folders, ["client"])
    assert set(took) == {"db1"} and took["db1"] > 0
    after = reboot.boots(fleet, folders)
    assert after["db1"].id != before["db1"].id and after["db1"].mounts == before["db1"].mounts
    wait_for(lambda: world.db1.run(f"systemctl is-active {SERVICE} || true") == "active", "the unit of its server")


def test_what_it_does_not_mount_by_itself_is_told(world: Field, fleet: Fleet, monkeypatch: Any) -> None:
    monkeypatch.setattr(reboot, "ASK_EVERY_S", 1)
    world.db1.run("mkdir -p /run/data; mount -t tmpfs disk_of_data /run/data")
    with pytest.raises(HostError) as told:
        reboot.reboot(fleet, {"db1": ["/run/data"]}, ["client"])
    said = str(told.value)
    assert "/run/data is on nowhere after its reboot, and was on disk_of_data. Nothing was started there" in said
    assert "add it to /etc/fstab" in said


def test_what_drives_the_trial_is_spared(fleet: Fleet) -> None:
    before = boot_of(fleet)
    with pytest.raises(HostError, match=r"it was not rebooted, as it is host 'db1', without which the trial cannot go"):
        reboot.reboot(fleet, {"db1": []}, ["db1"], stop=lambda: pytest.fail("nothing is stopped for nothing"))
    assert boot_of(fleet) == before


def test_a_login_that_may_not_is_told_at_once(world: Field, fleet: Fleet) -> None:
    before = boot_of(fleet)
    world.db1.run("mv /etc/sudoers.d/clusterbench /run/kept")
    try:
        with pytest.raises(HostError, match="sudo"):
            reboot.reboot(fleet, {"db1": []}, ["client"])
    finally:
        world.db1.run("mv /run/kept /etc/sudoers.d/clusterbench")
    assert boot_of(fleet) == before
