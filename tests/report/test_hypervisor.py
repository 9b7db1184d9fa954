"""What a hypervisor saw of trials, beside what their guests saw."""

from __future__ import annotations

import dataclasses
from typing import Any

from clusterbench.base.records import Trial, TrialRecord
from clusterbench.report.run.hypervisor import seen
from clusterbench.run.validation import about_other_machines
from tests.report.test_hadoop import gathered

UP = {
    "hosts": {
        "esx1": {
            "vendor": "HP",
            "machines": [
                {"name": "vm2-sdw1", "is_on": True, "ours": True},
                {"name": "oracle", "is_on": True, "ours": False},
                {"name": "old", "is_on": False, "ours": False},
            ],
        }
    },
    "machines": [{"on": "esx1", "machine": "machine1"}, {"on": "esx1", "machine": "machine1"}],
    "made": ["vm2-sdw1"],
    "shut_down": ["vm1-sdw1"],
    "seconds": 81.4,
}
VIEW = {
    "hosts": {"machine1": {"cpu_percent": 71.0, "name": "esx1"}},
    "machines": {"sdw1": {"cpu_ready_percent": 4.0}, "sdw2": {"cpu_ready_percent": 6.0, "balloon_mib": 12.0}},
    "others": {"oracle": {"cpu_percent": 38.2, "on": "esx1"}, "idle": {"cpu_percent": 0.2, "on": "esx1"}},
    "interval_s": 20,
    "covered": 0.95,
    "clock_ahead_s": -1.5,
}


def record(trial_id: str = "a.r1") -> TrialRecord:
    trial = Trial(trial_id, "a (#1)", "one", "s", "w", {}, 1, 1, 9, {})
    telemetry = {
        "sdw1": {"mean": {"cpu_percent": 80.0, "cpu_steal_percent": 3.0}},
        "sdw2": {"mean": {"cpu_percent": 90.0, "cpu_allotted_percent": 60.0, "cpu_steal_percent": 5.0}},
    }
    return TrialRecord(trial, "completed", "", telemetry=telemetry)


def run(**views: Any) -> Any:
    made = gathered(trials=[record()])
    return dataclasses.replace(
        made, machines={"one": UP}, views={("one", trial): view for trial, view in views.items()}
    )


def test_host_and_guests_stand_side_by_side_as_mean_and_highest() -> None:
    found = seen(run(**{"a.r1": VIEW}))
    assert found is not None
    (row,) = found.rows
    assert row.host_cpu == (71.0, 71.0) and row.guest_cpu == (70.0, 80.0) and row.steal == (4.0, 5.0)
    assert row.machines["cpu_ready_percent"] == (5.0, 6.0) and row.machines["balloon_mib"] == (12.0, 12.0)
    assert row.machines["cpu_costop_percent"] is None, "what was not told is not zero"
    assert row.others == "oracle on esx1 (38 %)" and row.covered_percent == 95.0
    assert found.clock_ahead_s == -1.5 and found.interval_s == 20
    (host,) = found.hosts
    assert (host.host, host.others) == ("machine1", "oracle")
    assert found.switches == [
        "one: 2 machines were up after 81 s, 1 of them made, 1 of another layout shut down for them"
    ]


def test_counters_that_could_not_be_had_are_told_and_nothing_is_made_up() -> None:
    found = seen(run(**{"a.r1": {"problem": "vCenter vc: cannot be reached"}}))
    assert found is not None and found.rows == []
    assert found.problems == ["its counters could not be had: vCenter vc: cannot be reached"]


def test_a_run_on_machines_that_nobody_made_has_no_such_section() -> None:
    assert seen(gathered(trials=[record()])) is None


def test_other_peoples_machines_are_noise_by_name() -> None:
    quiet = {**VIEW, "others": {"idle": {"cpu_percent": 0.2, "on": "esx1"}}}
    (verdict,) = about_other_machines({("one", "a.r1"): VIEW, ("one", "b.r1"): quiet})
    assert not verdict.passed and not verdict.critical and verdict.check == 5
    assert verdict.found == "1 of 2 trials; not so: oracle, beside a.r1 on one"
    (well,) = about_other_machines({("one", "b.r1"): quiet})
    assert well.passed and well.found == "1 of 1 trials"
    assert about_other_machines({}) == []
