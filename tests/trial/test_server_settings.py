"""Settings of the servers as factors: how they are declared, planned, allowed, and in which order they are measured."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.base.factors import factor_of, server_settings
from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial
from clusterbench.engines.hadoop.configuration import declared_hadoop
from clusterbench.results.durability import by_levels, say_level
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.checks import _check_sweep
from clusterbench.spec.experiment import Experiment, Sweep
from clusterbench.spec.platform import ManagedHadoop
from clusterbench.trial import server_settings as as_factors
from clusterbench.trial.plan import make_plan, read_choices
from clusterbench.workloads import load_workload
from clusterbench.workloads.terasort.jobs import RESTART_S

CATALOG = Catalog(project_root())


def experiment(**factors: Any) -> Experiment:
    smoke = CATALOG.experiment("smoke")
    declared = smoke.sweeps["lookups"].model_dump()
    sweep = Sweep.model_validate({**declared, "factors": {"rows": [10_000], **factors}})
    assert _check_sweep(sweep) == []
    return smoke.model_copy(update={"sweeps": {"lookups": sweep}})


def planned(made: Experiment, **chosen: Any) -> list[Trial]:
    (trials,) = make_plan(made, read_choices(made, chosen), CATALOG).trials.values()
    return trials


def test_a_setting_is_a_factor_of_every_sweep() -> None:
    trials = planned(experiment(**{"server.shared_buffers": ["16MB", "64MB"], "clients": [1, 2]}))
    assert {trial.levels["server.shared_buffers"] for trial in trials} == {"16MB", "64MB"}
    assert "lookups.shared_buffers_16MB.clients_1.r1" in {trial.id for trial in trials}
    assert trials[0].label.startswith("lookups: shared_buffers ")
    assert server_settings(trials[0].levels) == {"shared_buffers": trials[0].levels["server.shared_buffers"]}
    assert not any(trial.not_applicable for trial in trials)


def test_values_that_are_compared_are_measured_one_after_the_other() -> None:
    made = experiment(**{"server.shared_buffers": ["16MB", "64MB"], "clients": [1, 2, 4]})
    trials = planned(made, repetitions=5)
    pairs = [trials[number : number + 2] for number in range(0, len(trials), 2)]
    for one, other in pairs:
        assert one.levels["clients"] == other.levels["clients"] and one.repetition == other.repetition
        assert one.levels["server.shared_buffers"] != other.levels["server.shared_buffers"]
    assert {one.levels["server.shared_buffers"] for one, _ in pairs} == {"16MB", "64MB"}, "either comes first at times"
    without = planned(experiment(clients=[1, 2, 4]), repetitions=5)
    assert as_factors.in_turns(without) == without


def test_without_leave_they_are_not_applicable_and_say_what_to_write() -> None:
    levels = {"server.shared_buffers": "1GB"}
    platform = CATALOG.platform("lab_db1")
    workload = load_workload("key_value")
    assert as_factors.why_not(levels, platform, workload) == ""
    guest = platform.model_copy(update={"may": ["evict"]})
    said = as_factors.why_not(levels, guest, workload)
    assert "write 'settings' into the servers' configuration files" in said
    assert "write 'may: [evict, engine_settings, restart]' into include/platforms/lab_db1.yaml" in said
    assert as_factors.why_not({"clients": 4}, guest, workload) == ""
    hadoop = CATALOG.platform("lab_hadoop1")
    assert as_factors.why_not(levels, hadoop, load_workload("network_stream")) == (
        "shared_buffers: settings of servers are factors of databases and of workloads of Hadoop; the platform names "
        "no database, and Network from host to host submits no job"
    )


def of_hadoop(**factors: Any) -> list[Trial]:
    declared = CATALOG.experiment("terasort")
    sweep = declared.sweeps["dataset_size"].model_dump()
    made = Sweep.model_validate({**sweep, "factors": {"rows": [1000, 2000], **factors}})
    assert _check_sweep(made) == []
    experiment = declared.model_copy(update={"sweeps": {"sizes": made}})
    chosen = {"platforms": ["lab_hadoop1"], "repetitions": 3}
    (trials,) = make_plan(experiment, read_choices(experiment, chosen), CATALOG).trials.values()
    return trials


def test_of_a_hadoop_they_go_with_jobs_need_no_leave_and_are_neighbours() -> None:
    trials = of_hadoop(**{"server.mapreduce.task.io.sort.mb": [100, 200]})
    assert not any(trial.not_applicable for trial in trials)
    assert "sizes.rows_1000.mapreduce.task.io.sort.mb_100.r1" in {trial.id for trial in trials}
    assert len(trials) == 12
    for one, other in zip(trials[::2], trials[1::2], strict=True):
        assert (one.levels["rows"], one.repetition) == (other.levels["rows"], other.repetition)
        assert {t.levels["server.mapreduce.task.io.sort.mb"] for t in (one, other)} == {100, 200}
    said = say_level(load_workload("terasort"), "server.mapreduce.task.io.sort.mb", 100)
    assert said == "mapreduce.task.io.sort.mb 100", "as reports and history have it"
    theirs = CATALOG.platform("lab_hadoop1").model_copy(update={"may": []})
    assert as_factors.why_not(trials[0].levels, theirs, load_workload("terasort")) == ""


def test_in_turns_of_the_command_line_serves_hadoop_too() -> None:
    experiment = CATALOG.experiment("dfsio")
    chosen = {"in_turns": {"server.dfs.blocksize": ["67108864", "134217728"]}, "platforms": ["lab_hadoop1"]}
    (trials,) = make_plan(experiment, read_choices(experiment, chosen), CATALOG).trials.values()
    assert {trial.levels["server.dfs.blocksize"] for trial in trials} == {"67108864", "134217728"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shared_buffers", "shared_buffers is no parameter of Hadoop: those begin with dfs., ha., hadoop., ipc., "),
        ("dfs.datanode.data.dir", "dfs.datanode.data.dir follows from the platform's file: it says where daemons are"),
        ("dfs.datanode.address", "measure two platforms in one run whose files differ in it"),
        ("yarn.resourcemanager.hostname", "follows from the platform's file"),
        ("dfs.block.replicator.classname", "follows from the platform's file"),
        ("hadoop.security.authentication", "or whom they let in"),
        ("dfs.encrypt.data.transfer", "or whom they let in"),
        ("dfs.block.access.token.enable", "or whom they let in"),
        ("mapreduce.shuffle.port", "follows from the platform's file"),
        ("dfs.replication", "dfs.replication is the factor 'replicas'; vary that"),
        ("mapreduce.job.reduces", "mapreduce.job.reduces follows from 'slots' of the platform's file"),
        ("mapreduce.job.queuename", "mapreduce.job.queuename is 'hadoop.managed.queue' of the platform's file"),
    ],
)
def test_what_hadoop_cannot_be_given_is_not_applicable_and_says_what_to_do(name: str, said: str) -> None:
    trials = of_hadoop(**{f"server.{name}": ["1", "2"]})
    assert all(said in trial.not_applicable for trial in trials)


OF_DAEMONS = ("yarn.nodemanager.resource.memory-mb", "dfs.datanode.readahead.bytes", "mapreduce.shuffle.max.threads")


@pytest.mark.parametrize("name", OF_DAEMONS)
def test_what_daemons_read_takes_leave_to_restart_them(name: str) -> None:
    (first, *others) = of_hadoop(**{f"server.{name}": [1024, 2048]})
    assert not any(trial.not_applicable for trial in (first, *others))
    terasort = load_workload("terasort")
    guest = CATALOG.platform("lab_hadoop1").model_copy(update={"may": ["recover"]})
    assert as_factors.why_not(first.levels, guest, terasort) == (
        f"{name} is read by Hadoop's daemons when they start; the platform's file does not let clusterbench stop and "
        "start the engine's servers, for cold caches and for settings that are read at start; to allow it, write "
        "'may: [recover, restart]' into include/platforms/lab_hadoop1.yaml"
    )


def test_daemons_of_a_managed_hadoop_are_left_alone() -> None:
    levels = {"server.dfs.datanode.readahead.bytes": 1, "server.mapreduce.task.io.sort.mb": 100}
    ours = CATALOG.platform("lab_hadoop1")
    managed = ManagedHadoop.model_validate({"configuration": "/etc/hadoop/conf", "path": "/user/bench"})
    theirs = ours.model_copy(update={"hadoop": declared_hadoop(ours).model_copy(update={"managed": managed})})
    assert as_factors.why_not(levels, theirs, load_workload("dfsio")) == (
        "dfs.datanode.readahead.bytes is read by Hadoop's daemons when they start, and those of a managed Hadoop are "
        "never restarted by clusterbench; ask who runs it to change it between two runs, or vary what jobs read "
        "(mapreduce.*, yarn.app.mapreduce.*, dfs.client.*, dfs.blocksize, io.*)"
    )


def test_restarts_are_in_the_estimate_of_a_trial_whose_daemons_are_configured() -> None:
    terasort = load_workload("terasort")
    levels: dict[str, Any] = {name: factor.default for name, factor in terasort.factors.items()}
    alone = terasort.estimate_s(levels)
    assert terasort.estimate_s(levels | {"server.mapreduce.task.io.sort.mb": 100}) == alone
    assert terasort.estimate_s(levels | {"server.dfs.heartbeat.interval": 3}) == alone + 2 * RESTART_S


@pytest.mark.parametrize("level", ["a/b", "1 GB", "", "..", True])
def test_a_value_that_cannot_name_a_file_is_refused(level: Any) -> None:
    factor = factor_of({}, "server.archive_command")
    assert factor and "cannot be part of a file name" in str(factor.problem(level))
    assert factor_of({}, "server.") is None and factor_of({}, "work_mem") is None


@pytest.mark.parametrize("level", ["1GB", "on", 4, 1.1, "1.1"])
def test_other_values_are_the_server_s_affair(level: Any) -> None:
    factor = factor_of({}, "server.random_page_cost")
    assert factor and factor.problem(level) is None


def test_an_unknown_factor_is_one_as_before() -> None:
    sweep = experiment().sweeps["lookups"].model_copy(update={"factors": {"servers.fsync": ["off"]}})
    assert _check_sweep(sweep)[0].startswith("factors: unknown factor 'servers.fsync'")
    with pytest.raises(SpecError, match=r"has no factor 'servers\.fsync'"):
        planned(experiment().model_copy(update={"sweeps": {"lookups": sweep}}))


def test_one_that_trades_durability_away_is_told_as_that() -> None:
    (off, _) = sorted(planned(experiment(**{"server.fsync": ["off", "on"]}), repetitions=1), key=lambda t: t.id)
    assert off.levels["server.fsync"] == "off" and by_levels(off) == ["fsync"]
    assert "fsync" in say_level(load_workload("key_value"), "server.fsync", "off")
    assert say_level(load_workload("key_value"), "server.shared_buffers", "1GB") == "shared_buffers 1GB"
