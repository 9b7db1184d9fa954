"""Contracts that every file of the project keeps: experiments, platforms, published results, workloads, suites."""

from __future__ import annotations

import inspect
import json
import re
import shutil
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from clusterbench.base.capabilities import ALONE
from clusterbench.base.datasets import Dataset
from clusterbench.base.errors import SpecError
from clusterbench.base.factors import Factor, say_count
from clusterbench.base.paths import project_root
from clusterbench.engines import Engine, engine_class
from clusterbench.hosts.facts import vms
from clusterbench.spec import SCALES
from clusterbench.spec.by_name import engine_module, engine_names, workload_names
from clusterbench.spec.catalog import Catalog, is_offered
from clusterbench.spec.placed import placed
from clusterbench.trial.estimate import estimate
from clusterbench.trial.plan import make_plan, read_choices
from clusterbench.workloads import Workload, load_workload
from clusterbench.workloads.tpcds import data
from clusterbench_lab.cgroups import SERVERS

ROOT = project_root()
CATALOG = Catalog(ROOT)
SUITES = sorted((ROOT / "expectations").glob("*.json"))
ENGINES = engine_names()


def methods(protocol: type) -> list[str]:
    return [name for name, value in vars(protocol).items() if inspect.isfunction(value) and not name.startswith("_")]


# Files.


def test_there_is_something_to_check() -> None:
    assert CATALOG.experiment_files
    assert CATALOG.platform_files
    assert CATALOG.published_files
    assert SUITES
    assert workload_names()
    assert ENGINES


def test_no_file_has_a_problem() -> None:
    assert CATALOG.lint() == []


@pytest.mark.parametrize("path", CATALOG.experiment_files, ids=lambda path: path.stem)
def test_experiment_loads_and_explains_itself(path: Path) -> None:
    experiment = CATALOG.read_experiment(path)
    assert experiment.experiment == path.stem
    assert len(experiment.description) > 40


@pytest.mark.parametrize("path", CATALOG.platform_files, ids=lambda path: path.stem)
def test_platform_loads_and_has_hosts_for_its_engine(path: Path) -> None:
    platform = CATALOG.read_platform(path)
    assert platform.platform == path.stem
    assert set(platform.hosts) >= {platform.client}


@pytest.mark.parametrize("path", CATALOG.published_files, ids=lambda path: path.stem)
def test_published_file_loads_and_an_experiment_names_it(path: Path) -> None:
    assert path.stem in {CATALOG.read_experiment(file).published for file in CATALOG.experiment_files}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", [path.stem for path in CATALOG.experiment_files])
def test_every_experiment_plans_at_every_scale_on_every_platform_for_it(name: str, scale: str) -> None:
    experiment = CATALOG.experiment(name)
    engines = {CATALOG.platform(platform).engine for platform in experiment.platforms}
    every = [CATALOG.read_platform(path) for path in CATALOG.platform_files]
    platforms = [platform.platform for platform in every if platform.engine in engines and platform.is_for(name)]
    plan = make_plan(experiment, read_choices(experiment, {"scale": scale, "platforms": platforms}), CATALOG)
    assert set(plan.trials) == set(platforms) >= set(experiment.platforms)
    for trial in (trial for trials in plan.trials.values() for trial in trials):
        factors = load_workload(trial.workload).factors
        assert not [problem for name, level in trial.levels.items() if (problem := factors[name].problem(level))]
    for one in estimate(plan, CATALOG):
        assert one.trials == len(plan.trials[one.platform]) > 0
        assert one.disk_needed_bytes >= one.dataset_bytes
        assert one.dataset_bytes > 0 or name == "microbenchmarks", "which keep nothing in an engine"
        assert one.estimate_s > 0


@pytest.mark.parametrize("path", CATALOG.published_files, ids=lambda path: path.stem)
def test_published_value_stands_beside_a_cell_of_ours(path: Path) -> None:
    """Its levels are planned at full scale, and its unit is that of our measurement."""
    experiment = next(e for e in map(CATALOG.read_experiment, CATALOG.experiment_files) if e.published == path.stem)
    for value in CATALOG.published(path.stem).values:
        sweep = experiment.sweeps[value.sweep]
        unit = load_workload(sweep.workload).measurements[value.measurement].unit
        assert value.unit == ("1" if value.ratio_to else unit)
        for factor, level in value.levels.items():
            assert level in sweep.levels(factor, "full"), f"{value.sweep}: {factor} {level}"
    table = CATALOG.published(path.stem).scenarios
    for name, rows in table.sweeps.items() if table else ():
        assert table and list(rows) == experiment.sweeps[name].levels(table.factor, "full"), name


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(SpecError, match=r"unknown experiment 'smok'; did you mean 'smoke'\? Allowed: .*smoke"):
        CATALOG.experiment("smok")
    with pytest.raises(SpecError, match=r"unknown platform '\.\./platforms/lab_db1'; Allowed: .*lab_db1, "):
        CATALOG.platform("../platforms/lab_db1")
    with pytest.raises(SpecError, match=r"unknown published 'x'; Allowed: "):
        CATALOG.published("x")


def test_platforms_for_an_experiment_are_its_own_first_and_then_others_of_its_engine() -> None:
    names = [platform.platform for platform in CATALOG.platforms_for(CATALOG.experiment("smoke"))]
    assert names[0] == "lab_db1"
    assert "lab_db2" in names[1:]
    assert len(set(names)) == len(names)


def test_what_stands_for_no_template_is_told(tmp_path: Path) -> None:
    for folder in ("include/platforms", "include/published", "dags/experiments"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    path = tmp_path / "include/platforms/lab_retail_vm1.yaml"
    path.write_text(path.read_text().replace("stands_for: vm1", "stands_for: lab_db1"))
    (problem,) = Catalog(tmp_path).lint()
    assert "lab_retail_vm1.yaml:" in problem
    assert "stands_for: 'lab_db1' is not a template of a paper's platform; " in problem and "vm1" in problem


@pytest.mark.parametrize(
    "platform", [p for p in CATALOG.platform_files if p.stem.startswith(("lab_retail", "lab_tera"))]
)
def test_parts_of_a_server_are_what_the_lab_limits(platform: Path) -> None:
    """Files and the lab say the same: what a thread is, and each host's threads and memory."""
    declared = CATALOG.platform(platform.stem)
    one = placed(declared)
    assert one
    for host in (name.removeprefix("lab_") for name in (declared.every_host[each].ssh for each in vms(declared))):
        (server,) = (server for server in SERVERS.values() if host in server.guests)
        assert declared.placement and server.machine == declared.placement.machine
        assert float(server.thread_cpus) == declared.placement.thread_cpus
        assert (server.guests[host], server.memory_gib[host]) == (one.size.cpus, one.size.memory_gib)


@pytest.mark.parametrize(
    ("name", "parts"), [("lab_terasort_native", 1), ("lab_terasort_vm1", 1), ("lab_terasort_vm2", 2)]
)
def test_slots_are_the_same_in_all_however_a_server_is_cut(name: str, parts: int) -> None:
    one = placed(CATALOG.platform(name))
    assert one and one.slots
    assert (one.machines, one.hosts, one.hosts * one.slots) == (3, 3 * parts, 6)


def test_platform_of_one_experiment_is_offered_to_no_other(tmp_path: Path) -> None:
    assert CATALOG.platform("lab_ideal").experiments == ["tpcds_density"]
    offered = {name: CATALOG.platforms_for(CATALOG.experiment(name)) for name in ("tpcds_density", "smoke")}
    is_offered_to = {name for name, found in offered.items() if "lab_ideal" in [one.platform for one in found]}
    assert is_offered_to == {"tpcds_density"}
    smoke = CATALOG.experiment("smoke")
    with pytest.raises(SpecError) as caught:
        make_plan(smoke, read_choices(smoke, {"platforms": ["lab_ideal"]}), CATALOG)
    assert str(caught.value) == (
        "platforms: 'lab_ideal' is only for tpcds_density ('experiments' in its file); choose another, or add "
        "'smoke' there"
    )
    for folder in ("include/platforms", "include/published", "dags/experiments"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    path = tmp_path / "include/platforms/lab_ideal.yaml"
    path.write_text(path.read_text().replace("[tpcds_density]", "[tpcds_densty]"))
    said = "experiments: unknown experiment 'tpcds_densty'; did you mean 'tpcds_density'?"
    assert any(said in line for line in Catalog(tmp_path).lint())


def test_template_is_linted_but_never_offered(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "include/platforms", tmp_path / "include/platforms")
    path = tmp_path / "include/platforms/lab_db2.yaml"
    path.write_text(path.read_text() + "template: true\n")
    catalog = Catalog(tmp_path)
    assert catalog.read_platform(path).template
    assert "lab_db2" not in [platform.platform for platform in catalog.platforms()]
    path.write_text(path.read_text() + "colour: red\n")
    assert any("colour: unknown key" in problem for problem in Catalog(tmp_path).lint())


def test_broken_platform_is_left_out_and_told_by_lint(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "include/platforms", tmp_path / "include/platforms")
    (tmp_path / "include/platforms/broken.yaml").write_text("platform: broken\n")
    catalog = Catalog(tmp_path)
    assert "broken" not in [platform.platform for platform in catalog.platforms()]
    assert "lab_db1" in [platform.platform for platform in catalog.platforms()]
    assert any("broken.yaml:1: hosts: is missing" in problem for problem in catalog.lint())


# Workloads.


@pytest.fixture(params=workload_names())
def workload(request: pytest.FixtureRequest) -> Workload:
    return load_workload(request.param)


@pytest.fixture
def defaults(workload: Workload) -> dict[str, Any]:
    return {name: factor.default for name, factor in workload.factors.items()}


def test_workload_has_everything_that_a_workload_has(workload: Workload) -> None:
    for name in get_type_hints(Workload):
        assert getattr(workload, name), name
    for name in methods(Workload):
        declared, made = inspect.signature(getattr(Workload, name)), inspect.signature(getattr(workload, name))
        assert list(made.parameters) == [one for one in declared.parameters if one != "self"], name


def test_factors_are_named_explained_and_their_defaults_allowed(workload: Workload) -> None:
    for name, factor in workload.factors.items():
        assert re.fullmatch("[a-z][a-z0-9_]*", name)
        assert factor.help
        assert factor.problem(factor.default) is None
        assert "{}" in factor.wording
        assert factor.choices or factor.minimum < factor.maximum


def test_choices_of_factors_are_safe_in_file_names(workload: Workload) -> None:
    for factor in workload.factors.values():
        assert all(re.fullmatch("[A-Za-z0-9][A-Za-z0-9_]*", choice) for choice in factor.choices)


def test_measurements_are_named_with_unit_and_title(workload: Workload) -> None:
    for name, kind in workload.measurements.items():
        assert re.fullmatch("[a-z][a-z0-9_]*", name)
        assert kind.unit
        assert kind.title
        assert kind.better in ("lower", "higher", "neither")


def test_workload_estimates_its_trials(workload: Workload, defaults: dict[str, Any]) -> None:
    assert workload.estimate_s(defaults) > 0


def test_dataset_is_fixed_by_levels_and_seed(workload: Workload, defaults: dict[str, Any]) -> None:
    dataset = workload.dataset(defaults, 7)
    assert dataset == workload.dataset(dict(defaults), 7)
    assert isinstance(dataset, Dataset)
    assert dataset.seed == (data.SEED if dataset.name == "tpcds" else 7), "that generator has a seed of its own"
    if not hasattr(workload, "nothing_kept"):  # one that measures hosts has no rows
        assert dataset.rows > 0
        assert dataset.bytes_expected > 0
    assert re.fullmatch("[a-z][a-z0-9_]{0,62}", dataset.table)


def test_dataset_has_a_suite(workload: Workload, defaults: dict[str, Any]) -> None:
    dataset = workload.dataset(defaults, 7)
    if not dataset.is_of_trial:  # those are judged by what their trials find
        assert (ROOT / "expectations" / f"{dataset.suite or dataset.name}.json") in SUITES


def test_levels_that_need_other_data_say_so(workload: Workload, defaults: dict[str, Any]) -> None:
    for name, factor in workload.factors.items():
        other = factor.choices[-1] if factor.choices else factor.maximum
        beside = {**defaults, **({"storage": "append_column"} if name == "compression" else {})}  # a heap has none
        is_other = workload.dataset({**beside, name: other}, 7).table != workload.dataset(beside, 7).table
        assert is_other == factor.is_dataset, name


@pytest.mark.parametrize("path", CATALOG.experiment_files, ids=lambda path: path.stem)
def test_default_levels_can_be_had_on_every_platform_of_an_experiment(path: Path) -> None:
    experiment = CATALOG.read_experiment(path)
    for platform in CATALOG.platforms_for(experiment):
        unavailable = engine_class(platform).unavailable_on(platform, {})
        for name in {sweep.workload for sweep in experiment.sweeps.values()}:
            workload = load_workload(name)
            defaults = {factor: declared.default for factor, declared in workload.factors.items()}
            found = workload.not_applicable(defaults, unavailable)
            assert found == (unavailable.get(ALONE) if name in ("data_load", "index_build") else None), (
                platform.platform
            )


def test_workload_is_found_without_a_look_at_all_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for by each trial of a plan, of which there are thousands."""

    def listed(folder: str, pattern: str) -> list[Path]:
        raise AssertionError(f"{folder}/{pattern} was listed")

    monkeypatch.setattr("clusterbench.spec.by_name.all_files", listed)
    assert load_workload("key_value").title and load_workload("tpch").title


@pytest.mark.parametrize("name", ["../sql/tpch", "tpch/../ycsb", ""])
def test_name_of_a_workload_leads_to_no_other_folder(name: str) -> None:
    with pytest.raises(SpecError, match="unknown workload"):
        load_workload(name)


def test_unknown_workload_is_refused_with_a_suggestion() -> None:
    with pytest.raises(SpecError, match=r"unknown workload 'key_valu'; did you mean 'key_value'\? Allowed: "):
        load_workload("key_valu")


# Engines.


@pytest.mark.parametrize("name", ENGINES)
def test_engine_has_everything_that_an_engine_has(name: str) -> None:
    engine = engine_module(name).ENGINE
    assert engine.title
    assert all(engine.unavailable_on(CATALOG.platform("lab_db1"), {}).values()) or name == "greenplum"
    for method in methods(Engine):
        declared, made = inspect.signature(getattr(Engine, method)), inspect.signature(getattr(engine, method))
        assert list(made.parameters) == list(declared.parameters), method


# Factors.


@pytest.mark.parametrize("level", [0, 11, -1, True, "5", 5.0])
def test_level_of_a_number_must_be_a_whole_number_in_range(level: Any) -> None:
    assert "allowed: 1 to 10" in str(Factor(1, "x", minimum=1, maximum=10).problem(level))


@pytest.mark.parametrize("level", [1, 10])
def test_ends_of_the_range_are_allowed(level: int) -> None:
    assert Factor(1, "x", minimum=1, maximum=10).problem(level) is None


def test_level_of_a_choice_must_be_one_of_them() -> None:
    factor = Factor("cold", "x", choices=("cold", "warm"))
    assert factor.problem("warm") is None
    assert factor.problem("wram") == "level 'wram' is not allowed; did you mean 'warm'? Allowed: cold, warm"
    assert "not allowed" in str(factor.problem(1))


@pytest.mark.parametrize(
    ("count", "said"),
    [
        *[(1, "1"), (999, "999"), (1000, "1k"), (1500, "1.5k"), (1234, "1234"), (300_000, "300k"), (1_000_000, "1M")],
        *[(2_500_000, "2.5M"), (1_000_000_000, "1000M"), (8_400_000_000, "8400M"), (1_000_001, "1000001")],
    ],
)
def test_counts_are_said_short_and_never_rounded(count: int, said: str) -> None:
    assert say_count(count) == said


# Suites.


@pytest.fixture(scope="module")
def suites() -> dict[str, Any]:
    """Every suite as Great Expectations reads it; what is not one raises here."""
    import great_expectations as gx

    return {
        path.stem: gx.ExpectationSuite(name=path.stem, expectations=json.loads(path.read_text())["expectations"])
        for path in SUITES
    }


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_suite_is_one_of_great_expectations(path: Path, suites: dict[str, Any]) -> None:
    declared = json.loads(path.read_text())
    assert declared["name"] == path.stem
    assert declared["meta"]["rows"]
    types = [expectation.expectation_type for expectation in suites[path.stem].expectations]
    assert types == [expectation["type"] for expectation in declared["expectations"]] != []


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_expectation_says_in_words_what_it_checks_and_how_much_it_matters(path: Path) -> None:
    said = []
    for expectation in json.loads(path.read_text())["expectations"]:
        assert set(expectation) == {"type", "kwargs", "severity", "meta"}
        assert expectation["severity"] in ("critical", "warning")
        assert expectation["meta"]["check"] in range(1, 9)
        assert re.fullmatch(r"[A-Z].{10,}[^.]", expectation["meta"]["says"])
        said.append(expectation["meta"]["says"])
    assert len(set(said)) == len(said)


def test_every_reason_to_trust_a_number_that_is_checked_on_rows_has_an_expectation() -> None:
    checks = {one["meta"]["check"] for path in SUITES for one in json.loads(path.read_text())["expectations"]}
    assert checks == set(range(1, 9))


@pytest.mark.parametrize(
    ("said", "offered", "not_offered"),
    [
        ("", ["lab_db1", "compose_db1"], []),
        ("compose_*", ["compose_db1"], ["lab_db1", "mine"]),
        ("!compose_*", ["lab_db1", "mine"], ["compose_db1"]),
        ("mine, lab_*,!lab_db2", ["mine", "lab_db1"], ["lab_db2", "compose_db1"]),
    ],
)
def test_installation_says_which_platforms_it_measures(
    monkeypatch: pytest.MonkeyPatch, said: str, offered: list[str], not_offered: list[str]
) -> None:
    monkeypatch.setenv("CLUSTERBENCH_PLATFORMS", said)
    assert [name for name in offered + not_offered if is_offered(name)] == offered


def test_experiment_measures_what_is_offered_of_its_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERBENCH_PLATFORMS", "compose_*")
    catalog = Catalog(project_root())
    defaults = {experiment.experiment: experiment.platforms for experiment, _ in catalog.experiments()}
    assert defaults["smoke"] == ["compose_db1", "compose_db2"]
    assert defaults["terasort"] == ["compose_hadoop1"]
    offered = {platform.platform for _, platforms in catalog.experiments() for platform in platforms}
    assert offered == {"compose_db1", "compose_db2", "compose_hadoop1"}
    assert catalog.platform("lab_db1").platform == "lab_db1", "by its name it is still known"


def test_experiment_without_an_offered_platform_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERBENCH_PLATFORMS", "lab_db*")
    names = {experiment.experiment for experiment, _ in Catalog(project_root()).experiments()}
    assert "smoke" in names and "terasort" not in names
