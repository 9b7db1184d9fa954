"""Cells that are measured once more while their hosts' processors are sampled."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.base.measurements import Reading
from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.hosts import profile
from clusterbench.results.statistics import results
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.trial import profiles
from clusterbench.trial.plan import Plan, make_plan, read_choices
from clusterbench.trial.profiles import FILE, read


class Allowed(Catalog):
    """Of platforms that let processors be sampled."""

    def platform(self, name: str) -> Platform:
        found = super().platform(name)
        return found.model_copy(update={"may": [*found.may, "profile"]}) if name.startswith("lab") else found


CATALOG = Allowed(project_root())
READING = Reading({}, 1, 0, 100.0, 103.0)


def planned(experiment: str, platform: str, scale: str = "smoke", **chosen: object) -> Plan:
    declared = CATALOG.experiment(experiment)
    return make_plan(declared, read_choices(declared, {"scale": scale, "platforms": [platform], **chosen}), CATALOG)


@pytest.mark.parametrize(
    ("experiment", "platform", "scale"),
    [
        ("key_value", "lab_db1", "smoke"),  # fixed repetitions
        ("order_entry", "lab_native", "laptop"),
        ("tpcds_density", "lab_base", "laptop"),  # series of rising concurrency, and caches as left
        ("retail", "lab_retail_native", "laptop"),
    ],
)
def test_each_cell_is_measured_once_more_and_the_others_stay_as_they_are(
    experiment: str, platform: str, scale: str
) -> None:
    without = planned(experiment, platform, scale).trials[platform]
    trials = planned(experiment, platform, scale, profile=True).trials[platform]
    assert [trial for trial in trials if not trial.profiled] == without
    profiled = [trial for trial in trials if trial.profiled]
    assert {trial.cell for trial in profiled} == {trial.cell for trial in without}
    assert len(profiled) == len({trial.cell for trial in without})
    assert len({trial.id for trial in trials}) == len(trials)
    assert all(trial.label.endswith(", profiled)") and trial.until is None for trial in profiled)


def test_no_result_is_made_of_it() -> None:
    plan = planned("key_value", "lab_db1", sweeps=["concurrency"], profile=True)
    records = [
        TrialRecord(trial, "completed", "", {"throughput_per_s": 1e6 if trial.profiled else 10.0})
        for trial in plan.trials["lab_db1"]
    ]
    for result in results(plan.trials, records):
        assert set(result.measurements["throughput_per_s"].values) == {10.0}
        assert result.planned == len(result.measurements["throughput_per_s"].values)


def test_a_platform_that_does_not_allow_it_is_told_before_anything_is_run() -> None:
    with pytest.raises(SpecError, match=r"sample what the processors of its hosts run.*may: .*profile"):
        planned("retail", "native", "full", profile=True)


def test_hosts_are_asked_only_where_the_trial_is_profiled() -> None:
    plan, platform = planned("key_value", "lab_db1", profile=True), CATALOG.platform("lab_db1")
    one = next(trial for trial in plan.trials["lab_db1"] if trial.profiled)
    assert set(profiles.sampling(platform, one)) == set(platform.engine_hosts)
    assert profiles.sampling(platform, replace(one, profiled=False)) == {}


def profiled_trial() -> Trial:
    return next(trial for trial in planned("key_value", "lab_db1", profile=True).trials["lab_db1"] if trial.profiled)


def host(output: Path, name: str, lines: str, *, boot: str, errors: str = "") -> None:
    folder = output / "telemetry" / name
    folder.mkdir(parents=True)
    (folder / profile.ERRORS).write_text(errors)
    (folder / "telemetry.boot").write_text(boot)
    if lines:
        (folder / profile.SAMPLES).write_bytes(gzip.compress(lines.encode()))


LINES = "99\t7\tpostgres;start\n100\t3\tpostgres;scan\n101\t40\t-idle\n102\t2\tpostgres;scan\n103\t9\tpostgres;end\n"


def test_seconds_of_the_window_are_summed_over_machines(tmp_path: Path) -> None:
    """Two hosts that are one machine sampled the same; a third is another."""
    host(tmp_path, "one", LINES, boot="a")
    host(tmp_path, "same", LINES, boot="a")
    host(tmp_path, "other", "101\t4\tpostgres;sort\n", boot="b")
    found = read(tmp_path, profiled_trial(), READING, {})["profile"]
    assert found == {"samples": 9, "idle_samples": 40, "rate_hz": 49, "hosts": ["one", "other"]}
    assert gzip.decompress((tmp_path / FILE).read_bytes()) == b"postgres;scan 5\npostgres;sort 4\n"


def test_clock_of_a_host_that_is_ahead_is_taken_into_account(tmp_path: Path) -> None:
    host(tmp_path, "one", LINES, boot="a")
    assert read(tmp_path, profiled_trial(), READING, {"one": -1.0})["profile"]["samples"] == 10
    assert gzip.decompress((tmp_path / FILE).read_bytes()) == b"postgres;scan 3\npostgres;start 7\n"


def test_host_that_could_not_be_sampled_is_named_with_its_words(tmp_path: Path) -> None:
    host(tmp_path, "one", LINES, boot="a")
    host(tmp_path, "two", "", boot="b", errors="sudo: a password is required\nmore\n")
    found = read(tmp_path, profiled_trial(), READING, {})["profile"]
    (problem,) = found["problems"]
    assert problem.startswith(
        "host 'two': processors were not sampled: sudo: a password is required; perf must be installed"
    )
    assert found["samples"] == 5


def test_where_none_sampled_the_record_says_why(tmp_path: Path) -> None:
    host(tmp_path, "one", "", boot="a", errors="sudo: /usr/bin/perf: command not found\n")
    assert read(tmp_path, profiled_trial(), READING, {})["profile"] == {
        "problems": [
            "host 'one': processors were not sampled: sudo: /usr/bin/perf: command not found; perf must be "
            "installed, and its /etc/sudoers.d must have what 'clusterbench sudoers lab_db1' prints"
        ]
    }
    assert not (tmp_path / FILE).exists()
    assert read(tmp_path, replace(profiled_trial(), profiled=False), READING, {}) == {}
