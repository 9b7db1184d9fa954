"""A whole run of the experiment on hosts of the lab: numbers, a valid run, and the paper's beside them."""

from __future__ import annotations

import shutil

import pytest

from clusterbench.base.connections import Connections
from clusterbench.report.run.page import render_report
from clusterbench.run import steps
from clusterbench_lab import Lab
from tests.integration.helpers import measured_whole, new_run

pytestmark = [pytest.mark.lab, pytest.mark.long]
PLATFORM = "lab_hadoop1"


def test_study_is_valid_and_stands_beside_the_paper_s(lab: Lab, connections: Connections) -> None:
    """Where a program is not installed, its cells say so."""
    lab.up(airflow=False)
    run = new_run(connections, "microbenchmarks")
    steps.open_run(run, {"scale": "smoke", "platforms": [PLATFORM]}, {"by": "test"})
    for record in measured_whole(run, PLATFORM):
        program = "fio" if record.trial.workload == "disk_stream" else "iperf3"
        if shutil.which(program):
            assert record.outcome == "completed", record.reason
            assert all(value >= 0 for value in record.measurements.values())
        else:
            assert record.outcome == "not_applicable"
            assert f"{program} is not on PATH of " in record.reason
    steps.summarise(run)
    steps.validate_results(run)
    verdicts = run.archive.need_json("verdicts.json")
    assert verdicts["valid"], [verdict for verdict in verdicts["verdicts"] if not verdict["passed"]]
    page = render_report(run.archive, run.catalog)
    assert "One disk, filled by files one after the other" in page
    assert "From host to host, one way and both ways" in page
