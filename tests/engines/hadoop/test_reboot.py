"""Machines that are rebooted before a trial: what a platform's file must say, and what it costs a plan."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.engines.hadoop.engine import HadoopCluster
from clusterbench.hosts.reboot import Boot, read
from clusterbench.spec.platform import Platform
from clusterbench.workloads import load_workload

HOSTS = {
    "client": {"ssh": "c", "roles": ["client"]},
    "master": {"ssh": "m", "roles": ["namenode", "resourcemanager"]},
    "worker": {"ssh": "w", "roles": ["worker"], "count": 3},
}
TERASORT = load_workload("terasort")


def why_not(may: list[str], hosts: dict[str, Any] | None = None, **keys: Any) -> str | None:
    """Why a trial that reboots is not applicable there."""
    said = {"platform": "ours", "title": "Ours", "engine": "hadoop", "cluster": "ours", "page_cache": "none"}
    hadoop = {"home": "/opt/hadoop", "slots": 2}
    platform = Platform.model_validate(said | {"hosts": hosts or HOSTS, "hadoop": hadoop, "may": may} | keys)
    levels = {name: factor.default for name, factor in TERASORT.factors.items()}
    return TERASORT.not_applicable(levels | {"daemons": "rebooted"}, HadoopCluster.unavailable_on(platform, {}))


def test_it_needs_leave_by_name() -> None:
    assert why_not(["restart", "reboot"]) is None
    assert why_not(["restart"]) == (
        "the platform's file does not let clusterbench boot the machines of its workers and masters again, as root, "
        "before a trial that asks for it; to allow it, write 'may: [restart, reboot]' into include/platforms/ours.yaml"
    )


def test_the_client_is_a_machine_of_its_own() -> None:
    both = {**HOSTS, "client": {"ssh": "c", "roles": ["client", "resourcemanager"]}, "master": {**HOSTS["master"]}}
    both["master"]["roles"] = ["namenode"]
    said = "host 'client' is the client and runs daemons, too: with its reboot the trial would end"
    assert why_not(["restart", "reboot"], both) == said


def test_what_set_up_has_set_would_be_undone() -> None:
    setup = {"hosts": [{"sysctl": {"vm.swappiness": 1}}]}
    assert why_not(["restart", "reboot"], setup=setup) is None, "it is compared only"
    assert "a reboot undoes what 'setup.hosts' has set" in str(
        why_not(["restart", "reboot", "host_settings"], setup=setup)
    )


@pytest.mark.parametrize(("daemons", "least_s"), [("kept", 0), ("restarted", 120), ("rebooted", 720)])
def test_a_plan_counts_the_time_of_it(daemons: str, least_s: float) -> None:
    levels = {name: factor.default for name, factor in TERASORT.factors.items()}
    assert TERASORT.estimate_s(levels | {"daemons": daemons}) - TERASORT.estimate_s(levels) == least_s


def test_a_boot_is_read_with_its_mounts() -> None:
    told = "boot 1f-2e/4711\nmount /dev/sdb1 /data/one\nmount nowhere /data/with a space\n"
    assert read(told) == Boot("1f-2e/4711", {"/data/one": "/dev/sdb1", "/data/with a space": "nowhere"})
