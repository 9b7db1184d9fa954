"""A whole run in the field, step by step and without Airflow."""

from __future__ import annotations

from typing import Any

from clusterbench.run import steps
from clusterbench.run.run import Run
from tests.integration.helpers import measured_whole


def measured(run: Run, platform: str, choices: dict[str, Any]) -> None:
    """All steps of a run, as ``dags/benchmarks.py`` has them. Raises InvalidRunError for a run that is not valid."""
    steps.open_run(run, choices, {"by": "test"})
    measured_whole(run, platform)
    steps.summarise(run)
    steps.validate_results(run)
    steps.write_report(run)
    steps.seal(run)
    steps.conclude(run)
