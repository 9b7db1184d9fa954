"""The paper's tables with our cells below, and what the hosts did in each phase of a trial."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pytest

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.factors import Level
from clusterbench.base.paths import project_root
from clusterbench.base.records import Outcome, Trial, TrialRecord
from clusterbench.report.run.chart_data import PaperMark
from clusterbench.report.run.page import render_report
from clusterbench.report.run.paper_tables import OurRow, PaperTable, paper_tables
from clusterbench.report.run.resources import Course, courses
from clusterbench.report.run.sweeps import SweepView
from clusterbench.report.run.workers import workers
from clusterbench.results.gather import Gathered
from clusterbench.results.statistics import Result, Summary, ratio, results, summarise
from clusterbench.spec import Experiment, Published
from clusterbench.spec.published import PublishedTable
from clusterbench.trial.plan import Choices, Plan
from tests.report.test_report import CATALOG, Folder, text_of

EXPERIMENT = Experiment.model_validate(
    {
        "experiment": "terasort", "title": "T", "description": "D", "platforms": ["one"], "seed": 1,
        "sweeps": {
            "replication": {"title": "R", "workload": "terasort", "factors": {"replicas": [3, 1]}},
            "dataset_size": {"title": "S", "workload": "terasort", "factors": {"rows": [10_000_000, 20_000_000]}},
        },
    }
)  # fmt: skip
TABLE = PublishedTable.model_validate(
    {
        "table": "table_2", "title": "Elapsed times", "source": "Table 2, p. 10",
        "sweeps": ["replication", "dataset_size"], "levels": {"replicas": 3}, "columns": ["teragen_s", "terasort_s"],
        "rows": {"native": [1000, 4000], "4 VMs": [1100, 3000]},
        "ratios_of": ["teragen_s", "terasort_s"], "ratios_title": "Figure 2",
    }
)  # fmt: skip


def gathered(
    tables: Sequence[PublishedTable] = (TABLE,), trials: Sequence[TrialRecord] = (), *, published: bool = True
) -> Gathered:
    """A run on the platforms one, two and three, chosen in this order."""
    paper = Published(published="p", title="P", authors="A", cluster="C", values=[], tables=list(tables))
    return Gathered(
        experiment_name="terasort",
        run_id="r1",
        url="",
        opened={"choices": {"platforms": ["one", "two", "three"], "scale": "laptop"}},
        experiment=EXPERIMENT,
        declared_now=None,
        published=paper if published else None,
        plan=None,
        facts={},
        conformance={},
        data={},
        results=[],
        results_are_final=True,
        valid=True,
        verdicts=[],
        errors=[],
        trials=list(trials),
    )


def result(platform: str, times: Mapping[str, Sequence[float]], **levels: Level) -> Result:
    """A cell of three trials with the given times; without any, all three failed."""
    completed = 3 if times else 0
    return Result(
        platform=platform,
        sweep="replication",
        cell="cell",
        label="replication: cell",
        levels={"rows": 10_000_000, "replicas": 3, "map_output": "snappy", **levels},
        planned=3,
        completed=completed,
        outcomes={"completed": 3} if times else {"failed": 3},
        reasons=[] if times else ["it broke"],
        measurements={name: summarise(list(values), "s", "lower") for name, values in times.items()},
    )


def times(teragen: float, terasort: float) -> dict[str, list[float]]:
    """Three repetitions, of which the middle one is the median."""
    return {"teragen_s": [teragen - 1, teragen, teragen + 2], "terasort_s": [terasort - 3, terasort, terasort + 1]}


def tabulated(
    *results: Result, tables: Sequence[PublishedTable] = (TABLE,), **sweeps: list[Result]
) -> list[PaperTable]:
    run = gathered(tables)
    found = sweeps or {"replication": list(results)}
    return paper_tables(run, [SweepView(run, name, cells, "terasort") for name, cells in found.items()])


def medians(table: PaperTable) -> dict[str, list[float | None]]:
    def median(summary: Summary | None) -> float | None:
        return summary.median if summary else None

    return {row.label: [median(summary) for summary in row.summaries] for row in table.ours}


# The paper's tables.


def test_our_cells_stand_below_the_paper_s_rows_in_its_columns() -> None:
    (table,) = tabulated(result("one", times(10, 40)), result("two", times(12, 30)))
    assert (table.name, table.title, table.source) == ("table_2", "Elapsed times", "Table 2, p. 10")
    assert [kind.title for kind in table.kinds] == ["TeraGen", "TeraSort"]
    assert table.papers == [("native", [1000, 4000]), ("4 VMs", [1100, 3000])]
    assert medians(table) == {"one, 10M rows": [10, 40], "two, 10M rows": [12, 30]}
    assert [row.n_of_n for row in table.ours] == ["3 of 3", "3 of 3"]
    assert (table.apart, table.best_by, table.ours[0].best) == ([], "", [])


def test_cell_at_other_levels_than_the_table_s_is_left_out() -> None:
    (table,) = tabulated(result("one", times(10, 40)), result("one", times(5, 20), replicas=1))
    assert medians(table) == {"one, 10M rows": [10, 40]}


def test_what_the_table_leaves_open_is_in_the_name_of_the_row() -> None:
    small, large = result("one", times(10, 40)), result("one", times(20, 80), rows=20_000_000)
    (table,) = tabulated(dataset_size=[large, small])
    assert list(medians(table).items()) == [("one, 10M rows", [10, 40]), ("one, 20M rows", [20, 80])]


def of_size(rows: int, **changed: Any) -> PublishedTable:
    return TABLE.model_copy(update={"levels": {"replicas": 3, "rows": rows}, **changed})


def test_rows_of_the_paper_stand_below_cells_of_their_size() -> None:
    (table,) = tabulated(result("one", times(10, 40)), tables=[of_size(10_000_000)])
    assert (list(medians(table)), len(table.papers), table.apart) == (["one, 10M rows"], 2, [])


def test_rows_of_another_size_stand_apart_and_say_of_which_it_is() -> None:
    both = (result("one", times(10, 40)), result("two", times(12, 30)))
    (table,) = tabulated(*both, tables=[of_size(300_000_000_000)])
    assert list(medians(table)) == ["one, 10M rows", "two, 10M rows"]
    assert (table.papers, table.size) == ([], "300000M rows")
    assert table.apart == [("native", [1000, 4000]), ("4 VMs", [1100, 3000])]
    assert table.ratios is not None and len(table.ratios.papers) == 2, "ratios may be looked at"


def test_each_row_may_have_a_size_of_its_own() -> None:
    of_rows = {"native": {"rows": 10_000_000}, "4 VMs": {"rows": 99_000_000}}
    (table,) = tabulated(result("one", times(10, 40)), tables=[TABLE.model_copy(update={"row_levels": of_rows})])
    assert [row for row, _ in table.papers] == ["native"]
    assert ([row for row, _ in table.apart], table.size) == (["4 VMs"], "99M rows")


# The best run.

BEST = TABLE.model_copy(update={"best_by": "suite_s", "columns": ["teragen_s", "terasort_s"]})


def runs(teragen: Sequence[float], terasort: Sequence[float]) -> dict[str, list[float]]:
    whole = [gen + sort for gen, sort in zip(teragen, terasort, strict=True)]
    return {"teragen_s": list(teragen), "terasort_s": list(terasort), "suite_s": whole}


def test_best_run_is_one_repetition_and_not_the_best_of_each_column() -> None:
    (table,) = tabulated(result("one", runs([10, 14, 12], [45, 40, 43])), tables=[BEST])
    assert table.best_by == "All three"
    assert table.ours[0].best == [14, 40], "54 s in all, less than 55 and 55; TeraGen was faster in another"


def test_figure_has_best_runs_beside_medians() -> None:
    one, two = runs([10, 10, 10], [40, 41, 42]), runs([20, 5, 20], [42, 30, 42])
    (table,) = tabulated(result("one", one), result("two", two), tables=[BEST])
    assert table.ratios is not None
    medians_of, best_of = table.ratios.lines
    assert (medians_of.name, best_of.name) == ("two, 10M rows / one", "two, 10M rows / one, best runs")
    assert medians_of.colour == best_of.colour
    assert [(mark.y, mark.interval_95) for mark in best_of.marks] == [(0.5, None), (0.75, None)]
    assert [mark.y for mark in medians_of.marks] == [2.0, pytest.approx(42 / 41)]


def test_columns_that_not_every_repetition_has_are_of_no_run_that_could_be_named() -> None:
    whole = runs([10, 14, 12], [45, 40, 43])
    (table,) = tabulated(result("one", {**whole, "teragen_s": [10, 14]}), tables=[BEST])
    assert table.ours[0].best == [None, 40]
    (table,) = tabulated(result("one", times(10, 40)), tables=[BEST])
    assert table.ours[0].best == [None, None], "an archive of before has no time of all three"


def test_platforms_stand_in_the_order_in_which_they_were_chosen() -> None:
    (table,) = tabulated(*(result(name, times(10, 40)) for name in ("three", "one", "two")))
    assert [label.split(",")[0] for label in medians(table)] == ["one", "two", "three"]


def test_cell_of_two_sweeps_stands_once() -> None:
    first, again = result("one", times(10, 40)), result("one", times(11, 41))
    other = result("one", times(20, 80), rows=20_000_000)
    (table,) = tabulated(replication=[first], dataset_size=[again, other])
    assert medians(table) == {"one, 10M rows": [10, 40], "one, 20M rows": [20, 80]}


def test_cell_that_did_not_complete_stays_without_a_number() -> None:
    (table,) = tabulated(result("one", times(10, 40)), result("two", {}))
    assert table.ours[1] == OurRow("two, 10M rows", "0 of 3", [None, None], [])
    assert table.ratios is None


def test_measurement_that_is_absent_leaves_the_others() -> None:
    (table,) = tabulated(result("one", {"terasort_s": [39, 40, 41]}))
    assert medians(table) == {"one, 10M rows": [None, 40]}


@pytest.mark.parametrize(
    "changed",
    [{"sweeps": []}, {"sweeps": ["dataset_size"]}, {"levels": {"replicas": 2}}],
    ids=["no sweep", "another sweep", "other levels"],
)
def test_table_beside_which_nothing_of_ours_stands_is_left_out(changed: dict[str, Any]) -> None:
    found = tabulated(
        result("one", times(10, 40)), tables=[TABLE.model_copy(update=changed), TABLE.model_copy(update={"table": "b"})]
    )
    assert [table.name for table in found] == ["b"]


def test_run_without_published_values_has_no_tables() -> None:
    run = gathered(published=False)
    assert paper_tables(run, [SweepView(run, "replication", [result("one", times(10, 40))], "terasort")]) == []


# Their ratios.


def test_ratios_are_those_of_our_medians_to_the_first_platform() -> None:
    one, two = times(10, 40), times(12, 30)
    (table,) = tabulated(result("one", one), result("two", two))
    chart = table.ratios
    assert chart is not None
    assert (chart.reference, chart.unit, table.ratios_title) == (1.0, "1", "Figure 2")
    (series,) = chart.lines
    assert series.name == "two, 10M rows / one"
    assert [(chart.rows[int(mark.x)], mark.y) for mark in series.marks] == [("TeraGen", 1.2), ("TeraSort", 0.75)]
    assert series.marks[0].interval_95 == ratio(two["teragen_s"], one["teragen_s"])[1] is not None


def test_ratios_of_the_paper_are_to_its_first_row() -> None:
    (table,) = tabulated(result("one", times(10, 40)), result("two", times(12, 30)))
    assert table.ratios is not None
    assert table.ratios.rows == [
        "TeraGen", "TeraSort", "paper: TeraGen, 4 VMs / native", "paper: TeraSort, 4 VMs / native",
    ]  # fmt: skip
    assert table.ratios.papers == [PaperMark(2.0, 1.1, None, "1.10"), PaperMark(3.0, 0.75, None, "0.75")]


def test_measurement_that_one_of_the_two_lacks_has_no_ratio() -> None:
    only = {"terasort_s": [40.0, 40.0, 40.0]}
    for one, two in ((only, times(12, 30)), (times(10, 40), {"terasort_s": [30.0, 30.0, 30.0]})):
        (table,) = tabulated(result("one", one), result("two", two))
        assert table.ratios is not None
        assert [(mark.x, mark.y) for series in table.ratios.lines for mark in series.marks] == [(1.0, 0.75)]


def test_each_platform_is_compared_at_the_same_levels() -> None:
    (table,) = tabulated(
        result("one", times(10, 40)),
        result("one", times(20, 80), rows=20_000_000),
        result("two", times(30, 60), rows=20_000_000),
        result("three", times(5, 10)),
    )
    assert table.ratios is not None
    found = {series.name: [mark.y for mark in series.marks] for series in table.ratios.lines}
    assert found == {"three, 10M rows / one": [0.5, 0.25], "two, 20M rows / one": [1.5, 0.75]}


def test_cell_without_its_like_on_the_first_platform_has_no_ratio() -> None:
    (table,) = tabulated(result("one", times(10, 40)), result("two", times(30, 60), rows=20_000_000))
    assert len(table.ours) == 2
    assert table.ratios is None


def test_there_is_no_figure_of_one_platform_nor_where_the_paper_has_none() -> None:
    assert tabulated(result("one", times(10, 40)))[0].ratios is None
    without = TABLE.model_copy(update={"ratios_of": []})
    both = (result("one", times(10, 40)), result("two", times(12, 30)))
    assert tabulated(*both, tables=[without])[0].ratios is None
    assert tabulated(*both)[0].ratios is not None


# What the hosts did.

PHASES = [("TeraGen", 1000.0, 1030.0), ("map-shuffle", 1035.0, 1060.0), ("TeraValidate", 1065.0, 1080.0)]
COURSE = {"second": [0.5, 1.5], "cpu_percent": [10.0, 20.0]}


def record(
    platform: str = "one",
    repetition: int = 1,
    *,
    sweep: str = "replication",
    outcome: Outcome = "completed",
    phases: Sequence[tuple[str, float, float]] = PHASES,
    expected: Mapping[str, Mapping[str, float]] | None = None,
    telemetry: Mapping[str, Mapping[str, Any]] | None = None,
) -> TrialRecord:
    trial = Trial(
        id=f"{sweep}.r{repetition}",
        label=f"{sweep}: 3 replicas (#{repetition})",
        platform=platform,
        sweep=sweep,
        workload="terasort",
        levels={"replicas": 3},
        repetition=repetition,
        seed=1,
        timeout_s=60,
        settings={},
    )
    evidence = {
        "phases": [{"name": name, "start_s": start, "end_s": end} for name, start, end in phases],
        "driver": {"expected_bytes": expected} if expected else {},
    }
    seen = {"worker1": host(course=COURSE)} if telemetry is None else telemetry
    return TrialRecord(trial, outcome, "", evidence=evidence, telemetry=seen)


def host(boot_id: str | None = None, course: Mapping[str, Any] | None = None, **sums: float) -> dict[str, Any]:
    """Telemetry of one host; ``sums`` are bytes in TeraGen."""
    found: dict[str, Any] = {"samples": 80, "phases": {"TeraGen": sums}}
    return found | ({"boot_id": boot_id} if boot_id else {}) | ({"course": course} if course else {})


def drawn(*records: TrialRecord) -> list[Course]:
    return courses(gathered(trials=records))


def test_course_is_that_of_the_host_that_was_drawn_with_phases_from_the_begin() -> None:
    (found,) = drawn(record(telemetry={"client": host(), "worker3": host(course=COURSE)}))
    assert (found.platform, found.cell, found.host) == ("one", "replication: 3 replicas", "worker3")
    assert found.series == COURSE
    assert found.phases == [("TeraGen", 0, 30), ("map-shuffle", 35, 60), ("TeraValidate", 65, 80)]


def test_best_repetition_is_shown() -> None:
    """By the time of its phases, without the rests between."""
    short = [("TeraGen", 1000.0, 1020.0), ("TeraSort", 1090.0, 1100.0)]
    long = [("TeraGen", 1000.0, 1050.0), ("TeraSort", 1051.0, 1061.0)]
    for phases in ([long, short, long], [short, long, long], [long, long, short]):
        (found,) = drawn(*(record(repetition=number, phases=each) for number, each in enumerate(phases, 1)))
        assert found.phases[0] == ("TeraGen", 0, 20)


def test_each_cell_of_each_platform_has_its_own() -> None:
    found = drawn(record("one"), record("two"), record("one", 2), record("one", sweep="dataset_size"), record("two", 2))
    assert [(course.cell.split(":")[0], course.platform) for course in found] == [
        ("replication", "one"), ("replication", "two"), ("dataset_size", "one"),
    ]  # fmt: skip


@pytest.mark.parametrize("outcome", ["failed", "timed_out", "invalid", "not_applicable"])
def test_trial_that_did_not_complete_is_not_shown(outcome: Outcome) -> None:
    assert drawn(record(outcome=outcome)) == []
    quick = [("TeraGen", 1000.0, 1001.0)]
    (found,) = drawn(record(phases=quick, outcome=outcome), record(repetition=2))
    assert found.phases[0] == ("TeraGen", 0, 30)


def test_trial_without_phases_or_without_a_course_is_not_shown() -> None:
    assert drawn(record(phases=[])) == []
    assert drawn(record(telemetry={"worker1": host()})) == []
    assert drawn(record(telemetry={})) == []


def test_bytes_between_machines_are_summed_over_all_of_them() -> None:
    expected = {"TeraGen": {"disk_write": 300.0, "network": 200.0, "loopback": 300.0}}
    telemetry = {
        "worker1": host("a", COURSE, disk_write_bytes=160.0, network_sent_bytes=90.0, loopback_bytes=7.0),
        "worker2": host("b", disk_write_bytes=150.0, network_sent_bytes=100.0, network_received_bytes=999.0),
    }
    (found,) = drawn(record(expected=expected, telemetry=telemetry))
    assert found.machines == 2
    assert [(each.phase, each.what, each.expected_bytes, each.found_bytes) for each in found.sums] == [
        ("TeraGen", "written to disks", 300, 310), ("TeraGen", "sent between hosts", 200, 190),
    ]  # fmt: skip
    assert [each.ratio for each in found.sums] == [pytest.approx(310 / 300), pytest.approx(0.95)]


def test_hosts_of_one_machine_are_counted_once_and_speak_within_it() -> None:
    """Each of them sees all that the machine does."""
    expected = {"TeraGen": {"disk_write": 300.0, "network": 200.0, "loopback": 300.0}}
    seen = {"phases": {"TeraGen": {"disk_write_bytes": 310.0, "network_sent_bytes": 1.0, "loopback_bytes": 290.0}}}
    telemetry = {"worker1": host("a", COURSE) | seen, "worker2": host("a") | seen, "master": host("a") | seen}
    (found,) = drawn(record(expected=expected, telemetry=telemetry))
    assert found.machines == 1
    assert [(each.what, each.found_bytes) for each in found.sums] == [
        ("written to disks", 310), ("sent within the one machine", 290),
    ]  # fmt: skip


def test_host_whose_boot_is_not_known_is_a_machine_of_its_own() -> None:
    seen = {"phases": {"TeraGen": {"disk_write_bytes": 100.0}}}
    telemetry = {"worker1": host(None, COURSE) | seen, "worker2": host() | seen, "worker3": host("a") | seen}
    (found,) = drawn(record(expected={"TeraGen": {"disk_write": 300.0}}, telemetry=telemetry))
    assert (found.machines, found.sums[0].found_bytes) == (3, 300)


def test_host_that_was_not_watched_adds_nothing() -> None:
    telemetry = {"worker1": host("a", COURSE, disk_write_bytes=100.0), "worker2": {"samples": 0}}
    (found,) = drawn(record(expected={"TeraGen": {"disk_write": 100.0}}, telemetry=telemetry))
    assert (found.machines, found.sums[0].found_bytes) == (1, 100)


@pytest.mark.parametrize(
    ("what", "key", "found_bytes", "remark"),
    [
        ("disk_write", "disk_write_bytes", 1000.0, "as expected"),
        ("disk_write", "disk_write_bytes", 1090.0, "as expected"),
        ("disk_write", "disk_write_bytes", 910.0, "as expected"),
        (
            "disk_write",
            "disk_write_bytes",
            1200.0,
            "more than expected; possible reasons: work files, or another program",
        ),
        (
            "disk_write",
            "disk_write_bytes",
            890.0,
            "less than expected; possible reasons: it was in memory, or is not written yet",
        ),
        (
            "disk_read",
            "disk_read_bytes",
            0.0,
            "less than expected; possible reasons: it was in memory, or is not written yet",
        ),
        ("loopback", "loopback_bytes", 890.0, "less than expected"),
        ("loopback", "loopback_bytes", 3000.0, "more than expected; possible reasons: work files, or another program"),
    ],
)
def test_what_was_found_is_judged_in_words(what: str, key: str, found_bytes: float, remark: str) -> None:
    telemetry = {"worker1": host("a", COURSE, **{key: found_bytes})}
    (found,) = drawn(record(expected={"TeraGen": {what: 1000.0}}, telemetry=telemetry))
    assert [each.remark for each in found.sums] == [remark]
    assert found.sums[0].ratio == pytest.approx(found_bytes / 1000)


@pytest.mark.parametrize(
    ("sent", "remark"),
    [
        (550.0, "whole files are read, with blocks of other hosts"),
        (10.0, "read on its own host"),
        (800.0, "more than it can be; possible reason: another program"),
    ],
)
def test_remote_reads_of_teravalidate_are_summed_with_their_share_of_the_dataset(sent: float, remark: str) -> None:
    telemetry = {
        name: {**host(name, COURSE), "phases": {"TeraValidate": {"network_sent_bytes": sent / 2}}}
        for name in ("a", "b")
    }
    expected = {"TeraValidate": {"network_at_most": 2000 / 3, "loopback": 1000.0}}
    one = record(expected=expected, telemetry=telemetry)
    for phase in one.evidence["phases"]:
        phase["data_bytes"] = 1000
    (found,) = drawn(one)
    (summed,) = found.sums
    assert (summed.phase, summed.what, summed.found_bytes) == ("TeraValidate", "sent between hosts", sent)
    assert (summed.of_dataset, summed.is_most, summed.remark) == (pytest.approx(sent / 1000), True, remark)


def test_archive_that_does_not_tell_the_size_of_the_dataset_has_no_shares() -> None:
    (found,) = drawn(record(expected={"TeraGen": {"disk_write": 1000.0}}, telemetry={"one": host("a", COURSE)}))
    assert [each.of_dataset for each in found.sums] == [None]


def test_nothing_expected_has_no_ratio_and_no_remark() -> None:
    """A single replica is sent to nobody."""
    telemetry = {"one": host("a", COURSE, network_sent_bytes=5.0), "two": host("b", network_sent_bytes=6.0)}
    (found,) = drawn(record(expected={"TeraGen": {"network": 0.0}}, telemetry=telemetry))
    assert [(each.found_bytes, each.ratio, each.remark) for each in found.sums] == [(11, None, "")]


def test_phase_that_no_host_saw_has_no_bytes() -> None:
    telemetry = {"worker1": host("a", COURSE, disk_read_bytes=5.0)}
    (found,) = drawn(record(expected={"TeraValidate": {"disk_read": 100.0}}, telemetry=telemetry))
    assert (found.sums[0].phase, found.sums[0].found_bytes) == ("TeraValidate", 0)


def test_trial_of_which_nothing_was_expected_has_no_sums() -> None:
    (found,) = drawn(record())
    assert found.sums == []


# Workers.


def stage(slow_s: float = 9.0, count: int = 3) -> dict[str, Any]:
    """The last worker is the slowest."""
    did = {f"worker{number}": [2, 6.0, 0] for number in range(1, count)} | {f"worker{count}": [1, slow_s, 1]}
    return {
        "stage": "TeraGen, maps", "elapsed_s": 12.0, "median_task_s": 3.0, "median_tasks": 2,
        "slowest": f"worker{count}", "slowest_task_s": slow_s, "fewest": f"worker{count}", "fewest_tasks": 1,
        "workers": did,
    }  # fmt: skip


def worked(*stages: Mapping[str, Any], repetition: int = 1) -> TrialRecord:
    made = record(repetition=repetition)
    return dataclasses.replace(made, evidence={**made.evidence, "driver": {"work_by_worker": stages}})


def test_slowest_worker_of_each_stage_is_named() -> None:
    found = workers(gathered(trials=[worked(stage())]))
    assert found is not None
    (row,) = found.rows
    assert (row.stage, row.workers, row.tasks, row.fewest) == ("TeraGen, maps", 3, "1 / 2 / 2", "worker3")
    assert (row.slowest, row.slowest_task_s, row.median_task_s) == ("worker3", "9.00", "3.00")
    assert (row.ratio, row.is_slow, row.per_minute, row.unsuccessful) == (3, True, "10.0", 1)


def test_workers_are_listed_of_the_stage_in_which_they_differ_most_the_slowest_first() -> None:
    found = workers(gathered(trials=[worked(stage(4.0)), worked(stage(30.0, 30), repetition=2)]))
    assert found is not None
    (listed,) = found.listed
    assert listed.of == "TeraGen, maps of replication: 3 replicas (#2)"
    assert (listed.rows[0].worker, len(listed.rows), listed.total) == ("worker30", 20, 30)


def test_archive_that_does_not_tell_which_worker_ran_a_task_has_no_table() -> None:
    assert workers(gathered(trials=[record()])) is None


# The page.

DRAWN = COURSE | {
    name: [1.0, 2.0]
    for name in (
        "disk_read_mb_per_s", "disk_write_mb_per_s", "network_received_mb_per_s", "network_sent_mb_per_s",
        "loopback_mb_per_s",
    )
}  # fmt: skip
RATES = {"map_output_compression": 4.9, "local_maps_share": 0.9, "blocks_max_over_mean": 1.1, "suite_s": 60.0}


def page_of(folder: Path, rows: int) -> str:
    """The report of a run on two platforms, three repetitions each, of the paper's sweep."""
    found = []
    for platform, factor in (("one", 1.0), ("two", 1.2)):
        for repetition in (1, 2, 3):
            network = {"TeraValidate": {"network_at_most": 2000 / 3}}
            seen = {
                host_: {**host(host_, DRAWN), "phases": {"TeraValidate": {"network_sent_bytes": 275.0}}}
                for host_ in "ab"
            }
            made = record(platform, repetition, sweep="platforms", expected=network, telemetry=seen)
            levels = {"rows": rows, "replicas": 3, "output_replicas": "as_input", "map_output": "snappy", "pause_s": 5}
            for phase in made.evidence["phases"]:
                phase["data_bytes"] = 1000
            made.evidence["driver"]["work_by_worker"] = [stage()]
            times_s = {"teragen_s": 10.0, "terasort_s": 40.0, "map_shuffle_s": 30.0, "reduce_merge_s": 10.0}
            measured = {name: factor * value + repetition for name, value in (times_s | RATES).items()}
            trial = dataclasses.replace(made.trial, levels=levels)
            found.append(
                dataclasses.replace(made, trial=trial, measurements=measured, started_at="2026-11-22T01:00:00")
            )
    planned = {name: [each.trial for each in found if each.trial.platform == name] for name in ("one", "two")}
    choices = Choices(scale="full", platforms=["one", "two"], seed=1)
    files: dict[str, Any] = {
        "run.json": {"choices": choices.model_dump()},
        "plan.json": Plan("terasort", choices, planned).as_json(),
        "results.json": {"results": [one.as_json() for one in results(planned, found)]},
        **{f"trials/{r.trial.platform}/{r.trial.id}/trial.json": {"format": 1, **asdict(r)} for r in found},
    }
    for name, data in files.items():
        path = folder / "terasort" / "t1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data))
    shutil.copy(project_root() / "dags/experiments/terasort.yaml", folder / "terasort/t1/experiment.yaml")
    return render_report(RunArchive(cast(Store, Folder(folder)), "terasort", "t1"), CATALOG)


def test_page_of_another_size_has_the_paper_s_rows_apart_and_its_ratios_beside(tmp_path: Path) -> None:
    page = page_of(tmp_path, 10_000_000)
    seen = text_of(page)
    assert "The paper's rows stand apart: they are of 300000M rows, so that only ratios can be looked at" in seen
    ours, apart = seen.index("two, 10M rows 3 of 3"), seen.index("The paper's rows of 300000M rows")
    assert ours < apart < seen.index("paper: native 1 072")
    assert "4.9 (of 300000M rows)" in seen and "≥\u202f0.998 (of 300000M rows)" in seen
    assert "ours: two, 10M rows / one, best runs" in seen
    assert "TeraValidate sent between hosts at most 667\u202fB 550\u202fB 0.825 55\u202f%" in seen
    assert "TeraGen, maps 3 1 / 2 / 2 worker3 10.0 3.00 worker3 warning 9.00 3.00 1" in seen
    assert "netperf, each NIC, one way and both ways (p. 16)" in seen


def test_page_of_the_paper_s_size_has_its_rows_below_ours(tmp_path: Path) -> None:
    seen = text_of(page_of(tmp_path, 300_000_000_000))
    assert "Then the paper's rows, of the same size of data and of other hardware" in seen
    assert "The paper's rows of 300000M rows" not in seen
    assert seen.index("two, 300000M rows 3 of 3") < seen.index("paper: native 1 072")
