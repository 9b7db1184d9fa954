"""What iperf3 said becomes Mib/s each way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial
from clusterbench.workloads import load_workload

SAID = project_root() / "tests/fixtures/microbenchmarks/both_ways.json"
TRIAL = Trial("n.r1", "n", "one", "network", "network_stream", {"direction": "both_ways", "window_s": 2}, 1, 1, 60, {})


def output(folder: Path) -> Path:
    for name, seconds in (("begun", 100.0), ("ended", 102.5)):
        (folder / f"network.{name}").write_text(f"{seconds}\n")
    return folder


def test_each_way_is_what_the_other_end_received(tmp_path: Path) -> None:
    shutil.copy(SAID, output(tmp_path) / "network.json")
    reading = load_workload("network_stream").read(tmp_path, TRIAL, {})
    assert reading.measurements["sent_mibit_per_s"] == pytest.approx(2427226726.19677 / 2**20)
    assert reading.measurements["received_mibit_per_s"] == pytest.approx(3674934738.783872 / 2**20)
    assert (reading.measurements["retransmits"], reading.window_start_s, reading.window_end_s) == (35, 100.0, 102.5)


def test_server_that_was_not_reached_leaves_no_number(tmp_path: Path) -> None:
    said = '{"start": {}, "end": {}, "error": "unable to connect to server: Connection refused"}'
    (output(tmp_path) / "network.json").write_text(said)
    reading = load_workload("network_stream").read(tmp_path, TRIAL, {})
    assert (reading.measurements, reading.errors) == ({}, 1)
    assert reading.details["driver_errors"] == "unable to connect to server: Connection refused"


def test_without_iperf3_it_cannot_be_had() -> None:
    why = "iperf3 is not on PATH of 'client' and 'worker1': install the package iperf3 there"
    assert load_workload("network_stream").not_applicable({}, {"iperf3": why}) == why
