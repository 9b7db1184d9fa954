"""The first lines of a report: sentences about made-up numbers that are known, and about captured runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.factors import Level
from clusterbench.report.run.finding_papers import vms_of
from clusterbench.report.run.findings import KEY, Findings, findings, findings_in, findings_of
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.gather import Gathered, gather
from clusterbench.results.statistics import Result, summarise
from clusterbench.spec import Experiment, Published
from tests import density_run, order_entry_run
from tests.report.test_report import CAPTURED, CATALOG, Folder

SPREAD = (0.99, 1.0, 1.01)
"""Three repetitions, of which the median is the number that is asked for."""


def experiment(**sweeps: Mapping[str, Any]) -> Experiment:
    given = {"title": "T", "factors": {"clients": [1]}}
    return Experiment.model_validate(
        {
            **{"experiment": "e", "title": "E", "description": "D", "platforms": ["one"], "seed": 1},
            "sweeps": {name: {**given, **sweep} for name, sweep in sweeps.items()},
        }
    )


def run_of(declared: Experiment, results: Sequence[Result], **changed: Any) -> Gathered:
    platforms = list(dict.fromkeys(result.platform for result in results))
    given: dict[str, Any] = {
        **{"experiment_name": "e", "run_id": "r", "url": "", "declared_now": None, "published": None, "plan": None},
        "opened": {"choices": {"platforms": platforms, "scale": "laptop"}},
        **{"facts": {}, "conformance": {}, "data": {}, "results_are_final": True, "valid": True, "verdicts": []},
        **{"errors": [], "trials": [], "experiment": declared, "results": list(results)},
    }
    return Gathered(**{**given, **changed})


def cell(
    sweep: str, values: Sequence[float], platform: str = "one", measurement: str = "throughput_per_s", **levels: Level
) -> Result:
    unit = {"throughput_per_s": "1/s", "latency_ms_mean": "ms"}.get(measurement, "s")
    better = "higher" if unit == "1/s" else "lower"
    said = ",".join(f"{name}={level}" for name, level in levels.items())
    return Result(
        platform=platform,
        sweep=sweep,
        cell=f"{sweep}.{said}",
        label=f"{sweep}: {said}",
        levels=dict(levels),
        planned=3,
        completed=len(values),
        outcomes={"completed": len(values)} if values else {"failed": 3},
        reasons=[] if values else ["it broke"],
        measurements={measurement: summarise(list(values), unit, better)} if values else {},  # type: ignore[arg-type]
    )


def around(middle: float) -> list[float]:
    return [middle * one for one in SPREAD]


def told(run: Gathered, workload: str = "key_value") -> list[str]:
    names = dict.fromkeys(result.sweep for result in run.results)
    views = [SweepView(run, name, [r for r in run.results if r.sweep == name], workload) for name in names]
    return [one.text for one in findings(run, views).found]


def caches(**finding: Any) -> Experiment:
    said = {"finding": finding} if finding else {}
    factors = {"clients": [1, 200], "cache": ["cold", "warm"]}
    plots = ["throughput_per_s"]
    return experiment(concurrency={"workload": "key_value", "factors": factors, "plots": plots, **said})


def cached(cold: float, warm: float, clients: int = 200, values: Sequence[float] = SPREAD) -> list[Result]:
    sides = {"cold": cold, "warm": warm}
    return [
        cell("concurrency", [middle * one for one in values], clients=clients, cache=cache)
        for cache, middle in sides.items()
    ]


WORDS = {"cold": "from cold caches", "warm": "from warm caches"}
SAID = {"compare": "cache", "subject": "lookups", "words": WORDS}


# What is compared.


def test_declared_comparison_is_told_at_the_highest_load_with_its_words() -> None:
    run = run_of(caches(**SAID), [*cached(10, 20, clients=1), *cached(1000, 3400)])
    (text,) = told(run)
    assert text.startswith(
        "With 200 clients, lookups from warm caches reach 3\u202f400 a second (95 % interval 3\u202f"
    )
    assert text.endswith(", which is 3.4 times the throughput from cold caches (3.3 to 3.5).")


def test_a_level_that_is_named_is_where_it_is_compared() -> None:
    run = run_of(caches(**SAID, at={"clients": "lowest"}), [*cached(10, 20, clients=1), *cached(1000, 3400)])
    assert told(run)[0].startswith("With 1 client, lookups from warm caches reach 20.0 a second")


def test_level_below_the_line_may_be_another_than_the_first() -> None:
    run = run_of(caches(**SAID, to="warm"), cached(1000, 4000))
    assert "lookups from cold caches reach 1\u202f000 a second" in told(run)[0]
    assert "which is 0.25 of the throughput from warm caches" in told(run)[0]


def test_highest_load_that_did_not_complete_is_not_where_things_are_compared() -> None:
    broken = [cell("concurrency", [], clients=200, cache="warm"), cached(1000, 1)[0]]
    (text,) = told(run_of(caches(**SAID), [*cached(10, 20, clients=1), *broken]))
    assert text.startswith("With 1 client, lookups from warm caches reach 20.0 a second")


def test_without_a_declaration_the_first_factor_of_few_levels_is_compared_at_the_highest_load() -> None:
    (text,) = told(run_of(caches(), [*cached(10, 20, clients=1), *cached(1000, 3400)]))
    assert text.startswith("With 200 clients, the throughput with cache warm is 3\u202f400 a second")
    assert "3.4 times the throughput with cache cold" in text


def test_several_platforms_are_compared_with_the_first() -> None:
    both = [cell("s", around(100 * speed), name, clients=4) for name, speed in (("one", 1.0), ("two", 0.8))]
    run = run_of(experiment(s={"workload": "key_value"}), both, vms={"one": 0, "two": 4})
    (text,) = told(run)
    assert "the throughput on two with 4 VMs per server is 80.0 a second" in text
    assert "which is 0.80 of the throughput on one without VMs (0.78 to 0.82)" in text


def test_throughput_is_told_by_where_it_stops_to_rise() -> None:
    declared = experiment(s={"workload": "key_value", "factors": {"clients": [1, 4, 16, 64]}})
    rising = [cell("s", around(rate), clients=n) for n, rate in ((1, 100), (4, 350), (16, 900), (64, 900))]
    (text,) = told(run_of(declared, rising))
    assert text.startswith("The throughput rises up to 16 clients, where it is 900 a second")
    assert text.endswith("A higher load is not shown to raise it further.")
    (text,) = told(run_of(declared, rising[:3]))
    assert text.startswith("The throughput still rises at the highest load that was measured, 16 clients")


def test_times_are_compared_from_the_lowest_load_to_the_highest() -> None:
    declared = experiment(s={"workload": "full_scan", "factors": {"streams": [1, 2, 8]}})
    times = [
        cell("s", around(time), measurement="response_time_s", streams=n) for n, time in ((1, 2.0), (2, 4.0), (8, 20.0))
    ]
    (text,) = told(run_of(declared, times), "full_scan")
    assert "with 8 streams is 20.0\u202fs" in text and "10 times as long as with 1 stream" in text


# How sure it is.


@pytest.mark.parametrize(("cold", "warm"), [(100.0, 101.0), (100.0, 99.5)])
def test_nothing_is_said_to_differ_where_the_interval_contains_1(cold: float, warm: float) -> None:
    (text,) = told(run_of(caches(**SAID), cached(cold, warm)))
    assert "no difference to the same from cold caches is shown (ratio 0.9" in text
    assert "times" not in text and " of the throughput" not in text and "faster" not in text


def test_too_few_repetitions_speak_of_this_run_only() -> None:
    (text,) = told(run_of(caches(**SAID), cached(100, 300, values=(1.0,))))
    assert "300 a second in this run (too few repetitions for an interval), which is 3.0 times" in text
    assert "95 %" not in text


def test_among_many_comparisons_one_may_be_chance() -> None:
    """One of twenty whose interval hardly leaves 1 out, and nineteen that are equal."""
    names = [f"s{number}" for number in range(20)]
    declared = experiment(**{name: {"workload": "key_value", "factors": {"cache": ["cold", "warm"]}} for name in names})
    results = []
    for name in names:
        warm = [103.0, 104.0, 105.0] if name == "s0" else [99.0, 100.0, 101.5]
        results += [cell(name, [99.0, 100.0, 101.0], cache="cold"), cell(name, warm, cache="warm")]
    alone = run_of(declared, results[:2])
    assert "1.04 times the throughput" in told(alone)[0]
    said = told(run_of(declared, results))
    assert "among 20 comparisons one like this may be chance" in said[0]
    assert len(said) == 5


def test_cells_that_must_not_be_compared_say_why(tmp_path: Path) -> None:
    folder = order_entry_run.write(tmp_path)
    archive = RunArchive(cast(Store, Folder(folder.parents[1])), "order_entry", "o1")
    first = findings_of(gather(archive, CATALOG)).found[0].text
    assert first.startswith(
        "With 60 % of the CPUs busy, transactions on lab_vm64 with 1 VM per server reach 895 a second"
    )
    assert "0.90 of the throughput on lab_native without VMs (0.87 to 0.92)" in first
    assert "lab_busy without VMs it is not compared: the CPU utilisations, 64.5 % on lab_busy and 60.2 %" in first
    assert "The paper's ratio, with 32k warehouses and 90 % CPU, is 0.90." in first


# What the paper has.


def test_paper_s_ratio_is_of_two_of_its_numbers_with_its_levels_where_they_are_others() -> None:
    paper = CATALOG.published("key_value")
    small = run_of(caches(**SAID), cached(1000, 3400), published=paper)
    assert told(small)[0].endswith("The paper's ratio, with 1000M rows, is about 4.7.")
    same = [
        cell("concurrency", around(rate), clients=200, cache=cache, rows=10**9)
        for cache, rate in (("cold", 1000.0), ("warm", 3400.0))
    ]
    assert told(run_of(caches(**SAID), same, published=paper))[0].endswith("The paper's ratio is about 4.7.")


def test_difference_stands_beside_the_paper_s() -> None:
    finding = {"compare": "optimizer", "show": "difference", "subject": "a lookup"}
    factors = {"optimizer": ["planner", "orca"]}
    declared = experiment(
        optimizer={"workload": "key_value", "factors": factors, "plots": ["latency_ms_mean"], "finding": finding}
    )
    results = [
        cell("optimizer", around(ms), measurement="latency_ms_mean", optimizer=name)
        for name, ms in (("planner", 1.0), ("orca", 63.0))
    ]
    (text,) = told(run_of(declared, results, published=CATALOG.published("key_value")))
    assert "A lookup with optimizer orca takes 63.0\u202fms" in text
    assert "That is 62.0\u202fms more than with optimizer planner, or 63 times as long as" in text
    assert text.endswith("The paper's difference is about 60.0\u202fms.")


def test_rows_of_a_paper_s_table_are_platforms_by_their_virtual_machines() -> None:
    paper = CATALOG.published("terasort")
    declared = experiment(
        platforms={
            **{"workload": "terasort", "factors": {"replicas": [3]}},
            "finding": {"compare": "platform", "measurement": "terasort_s", "subject": "TeraSort"},
        }
    )
    levels: dict[str, Level] = {
        "replicas": 3,
        "map_output": "snappy",
        "rows": 10_000_000,
        "output_replicas": "as_input",
    }
    results = [
        cell("platforms", around(100 * slower), name, "terasort_s", **levels)
        for name, slower in (("bare", 1.0), ("four", 0.9))
    ]
    run = run_of(declared, results, published=paper, vms={"bare": 0, "four": 4})
    (text,) = told(run, "terasort")
    assert "TeraSort on four with 4 VMs per server takes 90.0\u202fs" in text
    assert "which is 0.90 times as long as on bare without VMs (0.88 to 0.92)" in text
    assert text.endswith("The paper's ratio, with 300000M rows, is 0.88.")
    assert "The paper" not in told(run_of(declared, results, published=paper), "terasort")[0], (
        "nobody says what they are"
    )


@pytest.mark.parametrize(
    ("name", "vms"),
    [("native", 0), ("hadoop_native", 0), ("vm1", 1), ("hadoop_vm10", 10), ("order_entry_vm", 1), ("4 VMs", 4),
     ("1 VM", 1), ("vm1_interleaved", None), ("April 2013", None), (None, None)],
)  # fmt: skip
def test_vms_of_a_paper_s_platform_are_in_its_name(name: str | None, vms: int | None) -> None:
    assert vms_of(name) == vms


def test_load_at_which_a_platform_breaks_down_is_told_first_with_the_paper_s(tmp_path: Path) -> None:
    folder = density_run.write(tmp_path)
    archive = RunArchive(cast(Store, Folder(folder.parents[1])), "tpcds_density", "d1")
    first, second, *_ = [one.text for one in findings_of(gather(archive, CATALOG)).found]
    assert first == (
        "With 24 streams, the lite test (51 queries) did not complete on lab_crowded with 8 VMs per server: 1 of 3 "
        "repetitions completed. With 20 streams it did. In the paper, with this density, it no longer completed from "
        "24 streams on."
    )
    assert second.startswith("With 20 streams, "), "the highest load that all completed"
    assert "The paper's ratio is 1.51." in second and "The paper's ratio is 2.7." in second


# What is not known.


def test_caution_comes_before_all_where_the_run_is_not_valid() -> None:
    run = run_of(caches(**SAID), cached(1000, 3400), valid=False)
    assert findings(run, []).first.startswith("This run is not valid: a critical check failed")
    assert findings(run_of(caches(**SAID), [], valid=None), []).first.startswith("This run was not judged")
    assert findings(run_of(caches(**SAID), cached(1000, 3400)), []).first == ""


def test_captured_run_says_what_its_numbers_are_worth() -> None:
    archive = RunArchive(cast(Store, Folder(CAPTURED)), "key_value", "s1")
    found = findings_of(gather(archive, CATALOG))
    said = " ".join(found.unknown)
    assert found.first.startswith("This run is not valid")
    assert "Scale smoke checks that every step works. Its numbers say nothing about a system." in said
    assert (
        "All hosts are one machine. The figures prove that the pipeline works; they say nothing about a platform."
        in said
    )
    assert "10 of 21 cells have no number (concurrency: 1 clients, cold: " in said
    assert "11 cells have fewer than 3 completed repetitions" in said
    assert found.sure == "", "there is no interval to be sure of"
    assert all("in this run" in one.text and "95 %" not in one.text for one in found.found)


def test_rehearsal_and_runs_without_any_number_say_so() -> None:
    opened = {"choices": {"platforms": ["one"], "scale": "full", "rehearse": 1000}}
    run = run_of(caches(**SAID), [cell("concurrency", [], clients=200, cache="warm")], opened=opened)
    found = findings(run, [SweepView(run, "concurrency", run.results, "key_value")])
    assert found.found == ()
    assert found.unknown[0] == "This is a rehearsal with smaller data. Its figures are not those of full scale."
    assert found.unknown[1].startswith("1 of 1 cell has no number (concurrency: ")


def test_findings_are_read_back_from_the_archive(tmp_path: Path) -> None:
    folder = order_entry_run.write(tmp_path)
    archive = RunArchive(cast(Store, Folder(folder.parents[1])), "order_entry", "o1")
    made = findings_in(archive, CATALOG)
    assert Findings.from_json(made.as_json()) == made
    (folder / KEY).write_text('{"first": "", "found": [], "unknown": ["nothing"], "sure": ""}')
    assert findings_in(archive, CATALOG).lines == ["Not known: nothing"]


def test_every_study_declares_what_its_reports_say_first() -> None:
    for name in ("key_value", "retail", "terasort", "tpcds_density", "order_entry"):
        assert any(sweep.finding for sweep in CATALOG.experiment(name).sweeps.values()), name


def test_published_differences_are_of_known_sweeps() -> None:
    paper: Published = CATALOG.published("key_value")
    assert [(one.of, one.minus, one.value) for one in paper.differences] == [("orca", "planner", 60)]


def test_run_that_measured_nothing_has_nothing_to_say() -> None:
    assert findings(run_of(caches(**SAID), []), []).lines == []


def test_numbers_that_are_all_zero_are_no_ratio() -> None:
    (text,) = told(run_of(caches(**SAID), cached(0, 0)))
    assert text.endswith("; no difference is shown: all values are 0.")
    (text,) = told(run_of(caches(**SAID), cached(0, 5)))
    assert "; it is not comparable: a ratio needs values above 0" in text


def test_where_nobody_declares_which_statement_is_told_the_others_are_named() -> None:
    declared = experiment(all={"workload": "tpch", "factors": {"streams": [1]}, "plots": ["q01_s", "q06_s"]})
    made = cell("all", around(10.0), measurement="q01_s", streams=1)
    more = cell("all", around(20.0), measurement="q06_s", streams=1).measurements
    both = replace(made, measurements={**made.measurements, **more})
    (said,) = told(run_of(declared, [both]), "tpch")
    assert "is 10.0\u202fs" in said
    assert re.search(r" The other statements there: \D*6\D* 20\.0\u202fs\.$", said), said
    (alone,) = told(run_of(declared, [made]), "tpch")
    assert "other statements" not in alone
