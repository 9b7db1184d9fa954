"""Neighbours as a platform's file declares them, and what is made of what their drivers noted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from clusterbench.base.capabilities import EVERYTHING
from clusterbench.base.measurements import Reading
from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.hosts import cpu_limits, facts
from clusterbench.run.validation import about_neighbours, measurement_rows
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.placed import contradictions, cpu_limit, density, placed
from clusterbench.spec.platform import Platform
from clusterbench.trial import neighbours
from clusterbench.workloads import load_workload, not_applicable
from clusterbench_lab.cgroups import SERVERS

CATALOG = Catalog(project_root())
SCENARIOS = {"ideal": 1, "base": 2, "oversubscribed": 4}


def scenario(name: str) -> Platform:
    return CATALOG.platform(f"lab_{name}")


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios_of_the_lab_are_what_they_are_called_and_what_the_lab_makes(name: str) -> None:
    platform = scenario(name)
    one = placed(platform)
    assert one is not None
    assert one.placement.vms_per_machine == 1 + len(platform.neighbours) == SCENARIOS[name]
    assert density(one.machine, one.cpus) == one.placement.density == name
    server = SERVERS["server1"]
    assert (one.machine, one.placement.thread_cpus) == (server.machine, server.thread_cpus)
    assert {one.size.cpus} == set(server.guests.values())
    assert cpu_limit(platform) == 0.5


@pytest.mark.parametrize(("host", "cpus", "limit"), [("native", 72, 1.2), ("vm64", 64, 1.0667)])
def test_native_and_its_vm_are_what_the_lab_makes(host: str, cpus: int, limit: float) -> None:
    platform = CATALOG.platform(f"lab_{host}")
    one, server = placed(platform), SERVERS["server2"]
    assert one is not None and facts.vms(platform) == [host]
    assert (one.machine, one.size.cpus, server.guests[host]) == (server.machine, cpus, cpus)
    assert cpu_limit(platform) == pytest.approx(server.cpus(host)) == pytest.approx(limit, abs=1e-4)
    said = f"{limit:.4g}"
    assert facts.declared_hardware(platform, {host: {"cpus": 2, "cpu_limit": limit}}) == [
        (host, "cpu_limit", said, said, True)
    ]
    for another in (1.0, 1.07, 1.25):
        assert facts.declared_hardware(platform, {host: {"cpus": 2, "cpu_limit": another}})[0][-1] is False
    assert facts.unavailable(platform, {host: {"cpus": 2}})[EVERYTHING].startswith(
        f"no CPU limit on {host}: {said} proc"
    )


@pytest.mark.parametrize(
    "names",
    [
        ("lab_native", "lab_vm64"),
        ("order_entry_native", "order_entry_vm"),
        ("order_entry_native_westmere", "order_entry_vm_esxi51"),
    ],
)
def test_native_and_its_vm_are_configured_alike_and_durable(names: tuple[str, str]) -> None:
    """Paper 003, "Performance Optimizations Used in the Study": identical ones for both."""
    native, vm = map(CATALOG.platform, names)
    assert (native.settings, native.setup) == (vm.settings, vm.setup)
    assert [native.settings[name] for name in ("fsync", "synchronous_commit", "full_page_writes")] == ["on"] * 3


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_of_the_lab_with_another_label_is_refused(name: str) -> None:
    platform = scenario(name)
    assert platform.placement is not None
    for other in SCENARIOS.keys() - {name}:
        wrong = platform.model_copy(update={"placement": platform.placement.model_copy(update={"density": other})})
        (said,) = contradictions(wrong)
        assert said.startswith(f"placement.density: declared {other!r}, but {2 * SCENARIOS[name]} vCPUs")


def test_a_neighbour_is_a_platform_with_the_same_drivers_and_nobody_beside_it() -> None:
    platform = scenario("oversubscribed")
    one = platform.neighbour("vm3")
    assert (one.platform, one.database, one.neighbours) == ("lab_oversubscribed/vm3", "lab_vm3_postgres", {})
    assert (one.database_hosts, one.client, one.hosts_with("etl")) == (["vm3"], "client", ["etl"])
    assert list(platform.every_host) == ["client", "etl", "vm1", "vm2", "vm3", "vm4"]
    assert one.settings == platform.settings


def test_a_client_that_is_also_the_coordinator_only_drives_a_neighbour() -> None:
    platform = scenario("base")
    client = platform.hosts["client"].model_copy(update={"roles": ["client", "coordinator"]})
    both = platform.model_copy(update={"hosts": {"client": client}})
    assert both.neighbour("vm2").database_hosts == ["vm2"]


# Limits that are not there.


def test_vms_without_limits_make_every_trial_not_applicable_and_no_run_fail() -> None:
    platform = scenario("base")
    hosts = {"vm1": {"cpus": 2, "cpu_limit": 0.5}, "vm2": {"cpus": 8}}
    assert facts.declared_hardware(platform, hosts) == [("vm1", "cpu_limit", "0.5", "0.5", True)]
    unavailable = facts.unavailable(platform, hosts)
    assert unavailable == {
        EVERYTHING: "no CPU limit on vm2: 0.5 processors are what the platform's file declares; the lab limits such "
        "hosts if root runs it and cgroups can be written"
    }
    workload = load_workload("key_value")
    defaults = {name: factor.default for name, factor in workload.factors.items()}
    assert not_applicable(workload, defaults, unavailable) == unavailable[EVERYTHING]
    assert not_applicable(workload, defaults, {}) is None


def test_a_limit_that_is_another_one_is_a_difference() -> None:
    hosts = {"vm1": {"cpus": 2, "cpu_limit": 0.75}}
    assert facts.declared_hardware(scenario("ideal"), hosts) == [("vm1", "cpu_limit", "0.5", "0.75", False)]
    assert facts.unavailable(scenario("ideal"), hosts) == {}


# Evidence.

TOLD = {"was": "running", "started_at": "108.5", "rounds": "90.0 99.5 0\n99.6 108.0 0", "cpu_s": "1.5"}


def judged(tmp_path: Path, **told: str) -> tuple[dict[str, object], str]:
    (tmp_path / neighbours.FILE).write_text(json.dumps({"vm2": {**TOLD, **told}}))
    evidence, problem = neighbours.check_under_load(tmp_path, Reading({}, window_start_s=100.0, window_end_s=110.0))
    return evidence["vm2"], problem


def test_a_round_that_still_runs_is_load_and_only_rounds_that_ended_within_the_window_are_counted(
    tmp_path: Path,
) -> None:
    assert judged(tmp_path) == (
        {"rounds": 1, "failed": 0, "round_s": 8.4, "under_load_share": 1.0, "driver_cpu_s": 1.5, "error": ""},
        "",
    )


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"was": "new", "started_at": "", "rounds": ""}, "neighbour 'vm2' never came under load"),
        (
            {"was": "ended", "error": "server closed\nthe connection"},
            "neighbour 'vm2' stopped before the trial's driver had ended: server closed the connection",
        ),
        (
            {"started_at": "108.5", "rounds": "99.0 100.5 0\n100.5 101.0 2\n103.0 103.1 2\n108.5 108.6 2"},
            "neighbour 'vm2' was under load for 5% of the measured time, at least 90% are needed; 3 of its rounds "
            "failed",
        ),
    ],
    ids=["never", "killed", "refused"],
)
def test_a_neighbour_without_load_makes_a_trial_invalid(tmp_path: Path, told: dict[str, str], problem: str) -> None:
    assert judged(tmp_path, **told)[1] == problem


def test_rounds_that_fail_slowly_are_no_load(tmp_path: Path) -> None:
    _, problem = judged(tmp_path, started_at="104.0", rounds="99.0 104.0 2\n")
    assert "was under load for 60% of the measured time" in problem and "1 of its rounds failed" in problem


def test_a_round_counts_by_the_share_of_its_statements_that_ended_well(tmp_path: Path) -> None:
    """psql ends well where a statement failed and the stream went on; they fail in a moment, or at their limit."""
    told = {"started_at": "108.0", "rounds": "98.0 104.0 0 1 1\n104.0 108.0 0 0.25 1\n", "unended": "0.5 1\n"}
    evidence, problem = judged(tmp_path, **told, error="ERROR:  canceling statement due to statement timeout")
    assert problem == (
        "neighbour 'vm2' was under load for 60% of the measured time, at least 90% are needed; 1 of its rounds failed: "
        "ERROR: canceling statement due to statement timeout"
    )
    assert (evidence["rounds"], evidence["failed"], evidence["round_s"]) == (1, 1, 6.0)


def test_a_round_of_a_window_is_told_by_the_time_of_one_pass(tmp_path: Path) -> None:
    evidence, problem = judged(tmp_path, started_at="108.0", rounds="96.0 104.0 0 1 4\n104.0 108.0 0 1 2\n")
    assert (problem, evidence["rounds"], evidence["round_s"]) == ("", 2, 2.0)


def test_a_platform_without_neighbours_has_no_evidence_of_any(tmp_path: Path) -> None:
    assert neighbours.check_under_load(tmp_path, Reading({}, window_start_s=1.0, window_end_s=2.0)) == ({}, "")


def test_hosts_that_are_busy_on_purpose_are_not_judged_for_quiet_but_named() -> None:
    trial = Trial("one.r1", "one", "lab_base", "one", "key_value", {}, 1, 7, 60, {})
    alone = TrialRecord(trial, "invalid", "alone", telemetry={"vm1": {"cpu_percent_before": 90.0}})
    crowded = replace(alone, evidence={"neighbours": {"vm2": {"rounds": 3}}, "neighbours_problem": "alone"})
    assert [row["answers_problem"] for row in measurement_rows([alone, crowded])] == ["alone", "none"]
    assert [row["cpu_percent_before"] for row in measurement_rows([alone, crowded])] == [90.0, None]
    (verdict,) = about_neighbours([alone, crowded])
    assert verdict.found == "1 of 2 trials had neighbours (vm2), which were under load before their driver"
    assert about_neighbours([alone]) == []


def test_throttled_time_is_a_share_of_all_processors(tmp_path: Path) -> None:
    """Two processors, ten seconds: five stood still at the own limit, one at the server's."""
    start, end = tmp_path / "start", tmp_path / "end"
    start.write_text("1000000 0 2 100.0\n")
    end.write_text("6000000 1000000 2 110.0\n")
    found = cpu_limits.throttled(start, end)
    assert found == {"cpu_throttled_percent": 25.0, "cpu_throttled_above_percent": 5.0}
    start.write_text("")
    assert cpu_limits.throttled(start, end) == cpu_limits.throttled(tmp_path / "none", end) == {}
