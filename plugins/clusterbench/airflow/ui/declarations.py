"""What this version knows of the experiments that the history tells of: what they call a number, what is a change."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from clusterbench.base.paths import project_root
from clusterbench.history.change_test import Policy
from clusterbench.history.model import Series
from clusterbench.spec import Experiment
from clusterbench.spec.catalog import project_catalog
from clusterbench.workloads import measurement_title


def experiments() -> Mapping[str, Experiment]:
    """As their files were when this process asked first."""
    return _experiments(project_root())


@cache
def _experiments(_root: Path) -> Mapping[str, Experiment]:
    return {one.experiment: one for one, _ in project_catalog().experiments()}


def title_of(series: Series) -> str:
    return title(series.experiment, series.sweep, series.measurement)


def title(experiment: str, sweep: str, measurement: str) -> str:
    """Of a measurement in that sweep."""
    return _title(project_root(), experiment, sweep, measurement)


@cache
def _title(_root: Path, experiment: str, sweep: str, measurement: str) -> str:
    return measurement_title(experiments().get(experiment), sweep, measurement)


def policy_of(series: Series) -> Policy:
    """That of an experiment that is no longer here is the usual one."""
    known = experiments().get(series.experiment)
    return Policy.of(known.regression_of(series.sweep)) if known else Policy()
