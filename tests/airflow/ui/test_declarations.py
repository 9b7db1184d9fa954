"""What pages call a number."""

from __future__ import annotations

import pytest

from clusterbench.airflow.ui import declarations


@pytest.mark.parametrize(
    ("experiment", "sweep", "measurement", "title"),
    [
        ("retail", "full_scan", "throughput_rows_per_s", "Rows scanned per second"),
        ("retail", "data_load", "throughput_rows_per_s", "Rows loaded per second"),
        ("retail", "a_sweep_of_long_ago", "throughput_rows_per_s", "Throughput rows per s"),
        ("an_experiment_of_long_ago", "full_scan", "response_time_s", "Response time s"),
        ("retail", "full_scan", "a_measurement_of_long_ago", "A measurement of long ago"),
    ],
)
def test_a_number_is_called_what_its_own_workload_calls_it(
    experiment: str, sweep: str, measurement: str, title: str
) -> None:
    assert declarations.title(experiment, sweep, measurement) == title
