"""What one file cannot know alone: do the factors exist, are their levels allowed, are the platforms there."""

from __future__ import annotations

from clusterbench.errors import SpecError, suggest
from clusterbench.spec.experiment import SCALES, Experiment, Sweep
from clusterbench.spec.published import Published, PublishedTable
from clusterbench.workloads import load_workload


def check_experiment(experiment: Experiment, platforms: list[str], published: list[str]) -> list[str]:
    """Problems of an experiment in the light of its workloads, and of the platforms and published files there are."""
    problems = [
        f"platforms: unknown platform {name!r}{suggest(name, platforms)}"
        for name in experiment.platforms
        if name not in platforms
    ]
    if experiment.published is not None and experiment.published not in published:
        name = experiment.published
        problems.append(f"published: there is no published file {name!r}{suggest(name, published)}")
    for name, sweep in experiment.sweeps.items():
        problems += [f"sweeps.{name}.{problem}" for problem in _check_sweep(sweep)]
    return problems


def _check_sweep(sweep: Sweep) -> list[str]:
    try:
        workload = load_workload(sweep.workload)
    except SpecError as error:
        return [f"workload: {error}"]
    problems = []
    for name in sweep.factors:
        factor = workload.factors.get(name)
        if factor is None:
            problems.append(f"factors: unknown factor {name!r}{suggest(name, list(workload.factors))}")
            continue
        levels = {level for scale in SCALES for level in sweep.levels(name, scale)}  # type: ignore[arg-type]
        problems += [
            f"factors.{name}: {problem}" for level in sorted(levels, key=str) if (problem := factor.problem(level))
        ]
    return problems


def check_published(experiment: Experiment, published: Published) -> list[str]:
    """A published value must belong to a sweep and to a measurement that the experiment has."""
    problems = []
    for number, value in enumerate(published.values):
        where = f"values.{number}"
        sweep = experiment.sweeps.get(value.sweep)
        if sweep is None:
            problems.append(
                f"{where}.sweep: experiment {experiment.experiment!r} has no sweep {value.sweep!r}"
                f"{suggest(value.sweep, list(experiment.sweeps))}"
            )
            continue
        workload = load_workload(sweep.workload)
        if value.measurement not in workload.measurements:
            names = list(workload.measurements)
            problems.append(
                f"{where}.measurement: workload {sweep.workload!r} has no measurement {value.measurement!r}"
                f"{suggest(value.measurement, names)}"
            )
        if value.ratio_to is not None and (value.platform is None or value.unit != "1"):
            problems.append(f"{where}.ratio_to: a ratio needs a 'platform', and its unit is '1', found {value.unit!r}")
        problems += [
            f"{where}.levels.{name}: workload {sweep.workload!r} has no factor {name!r}"
            f"{suggest(name, list(workload.factors))}"
            for name in value.levels
            if name not in workload.factors
        ]
    for number, table in enumerate(published.tables):
        for name in table.sweeps:
            problems += [f"tables.{number}.{problem}" for problem in _check_table(experiment, table, name)]
    return problems


def _check_table(experiment: Experiment, table: PublishedTable, sweep_name: str) -> list[str]:
    sweep = experiment.sweeps.get(sweep_name)
    if sweep is None:
        return [
            f"sweeps: experiment {experiment.experiment!r} has no sweep {sweep_name!r}"
            f"{suggest(sweep_name, list(experiment.sweeps))}"
        ]
    workload = load_workload(sweep.workload)
    unknown = [("columns", "measurement", name, list(workload.measurements)) for name in table.columns]
    unknown += [("levels", "factor", name, list(workload.factors)) for name in table.levels]
    return [
        f"{key}: workload {sweep.workload!r} has no {kind} {name!r}{suggest(name, known)}"
        for key, kind, name, known in unknown
        if name not in known
    ]
