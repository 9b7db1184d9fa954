"""Density scenarios in the paper's shape, series of CPU and steal, and times by query, from a made-up run."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from clusterbench.base import words
from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.records import TrialRecord
from clusterbench.report.run.cell_words import answer, state_of
from clusterbench.report.run.concurrency_series import HOST_LINES_MAX, SeriesCourse, series_courses
from clusterbench.report.run.concurrency_series_chart import draw_series
from clusterbench.report.run.density import DensityCell, DensityTable, Line, density_table
from clusterbench.report.run.density_findings import findings
from clusterbench.report.run.nodes import node_tables
from clusterbench.report.run.page import render_report
from clusterbench.report.run.queries import QueryTable, query_tables
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.gather import Gathered, gather
from clusterbench.results.statistics import GIVEN_UP as GIVEN_UP_PATTERN
from clusterbench.trial.ramp import given_up
from tests.density_run import GIVEN_UP, HOSTS, LEVELS, PLATFORMS, SLOWER, record, records, write
from tests.report.test_report import CATALOG, Folder, text_of

LITE = "Lite: the 51 fastest queries"


def archive_in(folder: Path) -> RunArchive:
    return RunArchive(cast(Store, Folder(folder.parents[1])), "tpcds_density", "d1")


def gathered(tmp_path: Path, found: list[TrialRecord] | None = None) -> tuple[Gathered, list[SweepView]]:
    run = gather(archive_in(write(tmp_path, found)), CATALOG)
    return run, SweepView.of_run(run)


def tabulated(tmp_path: Path, found: list[TrialRecord] | None = None) -> DensityTable:
    table = density_table(*gathered(tmp_path, found))
    assert table is not None
    return table


def line(table: DensityTable, sweep: str, level: int, *, is_paper: bool = False) -> Line:
    found = [one for _, lines in table.groups for one in lines if (one.sweep, one.level) == (sweep, level)]
    (one,) = [each for each in found if each.is_paper is is_paper]
    return one


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> DensityTable:
    return tabulated(tmp_path_factory.mktemp("density"))


# The table.


def test_columns_are_the_scenarios_in_the_paper_s_order_and_the_ideal_one_is_the_reference(tmp_path: Path) -> None:
    turned = [one for name in reversed(PLATFORMS) for one in records({name: 0})]
    table = tabulated(tmp_path, turned)
    assert [column.platform for column in table.columns] == ["lab_ideal", "lab_base", "lab_crowded"]
    assert [column.density for column in table.columns] == ["ideal", "base", "oversubscribed"]
    assert (table.reference, table.compared) == ("lab_ideal", [1, 2])


def test_without_an_ideal_platform_the_first_is_the_reference_and_the_paper_s_column_stays(tmp_path: Path) -> None:
    table = tabulated(tmp_path, records({"lab_base": 0, "lab_crowded": 0}))
    assert table.reference == "lab_base"
    assert [column.name for column in table.columns] == ["ideal, paper only", "lab_base", "lab_crowded"]
    ours, papers = line(table, "lite", 1), line(table, "lite", 1, is_paper=True)
    assert ours.cells[0].time == "–"
    assert papers.cells[0].time == "0:03:08"
    assert ours.cells[2].change == "+73\u202f%", "2.6 over 1.5"


def test_ours_stand_before_the_paper_s_row_of_the_same_concurrency(table: DensityTable) -> None:
    assert [title for title, _ in table.groups] == [LITE, "Full: all 99 queries"]
    kinds = [(one.level, one.is_paper) for one in table.groups[0][1]]
    assert kinds[:3] == [(1, False), (1, True), (4, False)]
    assert [level for level, is_paper in kinds if is_paper] == [1, 4, 8, 12, 16, 20, 24, 28, 32, 64, 100]
    assert [level for level, is_paper in kinds if not is_paper] == LEVELS["lite"]


def test_cell_of_ours_has_the_median_how_many_completed_and_the_change_with_its_interval(table: DensityTable) -> None:
    ideal, base, crowded = line(table, "full", 1).cells
    assert (ideal.time, ideal.note, ideal.change, ideal.bounds) == ("0:01:32", "3 of 3", "", "")
    assert (base.time, base.note, base.change) == ("0:02:18", "3 of 3", "+50\u202f%")
    assert re.fullmatch(r"\+4[67]\u202f% to \+5[34]\u202f%, slower", base.bounds)
    assert crowded.ratio == pytest.approx(SLOWER["lab_crowded"])


def test_change_that_may_be_none_shows_no_difference(tmp_path: Path) -> None:
    found = [
        dataclasses.replace(one, measurements={"response_time_s": one.measurements["response_time_s"] / 1.5})
        if one.trial.platform == "lab_base"
        else one
        for one in records({"lab_ideal": 0, "lab_base": 0})
    ]
    assert line(tabulated(tmp_path, found), "full", 1).cells[1].bounds.endswith(", no difference shown")


def test_cell_that_some_completed_has_its_time_and_an_x_with_how_many(table: DensityTable) -> None:
    cell = line(table, "lite", 24).cells[2]
    assert (cell.note, cell.has_failed, cell.bounds) == ("x: 1 of 3 completed", True, "no interval")
    assert re.fullmatch(r"\d:\d\d:\d\d", cell.time)
    assert cell.why == "sdw1 does not answer: connection refused"


def test_level_that_was_given_up_is_an_x(table: DensityTable) -> None:
    cell = line(table, "lite", 28).cells[2]
    assert (cell.time, cell.note, cell.has_failed) == ("x", "0 of 3 completed, given up", True)
    assert (cell.ratio, cell.change) == (None, "")


def test_level_that_cannot_be_had_is_no_x(tmp_path: Path) -> None:
    found = [
        dataclasses.replace(one, reason="no cgroups here") if one.outcome == "not_applicable" else one
        for one in records()
    ]
    cell = line(tabulated(tmp_path, found), "lite", 28).cells[2]
    assert (cell.time, cell.note, cell.has_failed) == ("not applicable", "", False)


def test_level_that_was_not_run_is_no_x(tmp_path: Path) -> None:
    run, _ = gathered(tmp_path)
    results = [
        dataclasses.replace(one, completed=0, outcomes={"not_run": 3}, reasons=[], measurements={})
        if one.platform == "lab_base"
        else one
        for one in run.results
    ]
    run = dataclasses.replace(run, results=results)
    table = density_table(run, SweepView.of_run(run))
    assert table is not None
    assert (line(table, "lite", 1).cells[1].time, line(table, "lite", 1).cells[1].has_failed) == ("not run", False)


def test_paper_s_cells_are_as_printed(table: DensityTable) -> None:
    found = line(table, "lite", 24, is_paper=True).cells
    assert [(cell.time, cell.change, cell.warnings) for cell in found] == [
        ("0:27:33", "", "0"), ("0:40:38", "+47\u202f%", "16"), ("1:11:38", "+160\u202f%", "312"),
    ]  # fmt: skip
    assert found[2].note == "x: 1 of 3 completed"
    last = line(table, "lite", 100, is_paper=True).cells[2]
    assert (last.time, last.note, last.warnings) == ("x", "0 of 3 completed", "x")


def test_warnings_are_counts_and_a_dash_where_none_are_counted(table: DensityTable, tmp_path: Path) -> None:
    assert [cell.warnings for cell in line(table, "lite", 20).cells] == ["0", "0", "80"]
    run, _ = gathered(tmp_path)
    for result in run.results:
        result.measurements.pop("interconnect_warnings", None)
    bare = density_table(run, SweepView.of_run(run))
    assert bare is not None
    assert [cell.warnings for cell in line(bare, "lite", 20).cells] == ["–"] * 3
    warned = next(one for one in findings(run, bare) if one.what == "network warnings from")
    assert [ours for ours, _ in warned.cells] == ["–"] * 3


def test_medians_over_the_levels_are_ours_the_paper_s_and_the_paper_s_at_our_levels(table: DensityTable) -> None:
    found = {whose: changes for whose, _, changes in table.medians}
    assert found["ours"] == ["reference", "+50\u202f% over 7 levels", "+160\u202f% over 6 levels"]
    assert found["paper"] == ["reference", "+50\u202f% over 15 levels", "+160\u202f% over 11 levels"]
    at_ours = found["paper, at the levels that were run here"]
    assert at_ours == ["reference", "+47\u202f% over 7 levels", "+143\u202f% over 6 levels"], (
        "lite 1 to 28, full 1 and 2"
    )


def test_there_is_no_table_where_no_platform_declares_its_density(tmp_path: Path) -> None:
    run, views = gathered(tmp_path)
    assert density_table(dataclasses.replace(run, densities={}), views) is None
    assert density_table(dataclasses.replace(run, published=None), views) is None


def test_platform_without_a_density_has_a_column_without_the_paper(tmp_path: Path) -> None:
    run, views = gathered(tmp_path)
    table = density_table(dataclasses.replace(run, densities={"lab_ideal": "ideal"}), views)
    assert table is not None
    assert [column.name for column in table.columns][3:] == ["lab_base", "lab_crowded"]
    assert line(table, "lite", 1, is_paper=True).cells[3] == DensityCell()


def test_what_it_comes_to_is_said_of_each_scenario(table: DensityTable, tmp_path: Path) -> None:
    found = {one.what: one.cells for one in findings(gathered(tmp_path)[0], table)}
    assert found["virtual machines"][2] == (
        "8 VMs per physical server: 128 vCPUs, 48 cores, 96 threads",
        "8 VMs per physical server: 96 threads < 128 vCPUs, 1:1.33",
    )
    assert found["median change of the time"][2] == ("+160\u202f% over 6 levels", "+160\u202f%")
    assert found["did not complete"] == [
        ("none", "none"), ("none", "none"), ("24 streams of lite, 28 streams of lite", "yes"),
    ]  # fmt: skip
    assert found["network warnings from"] == [
        ("none", "none"), ("none", "24 streams"), ("20 streams of lite", "20 streams"),
    ]  # fmt: skip
    assert found["highest steal (CPU time taken by other VMs)"][0] == ("0\u202f%", "near zero")
    assert found["highest steal (CPU time taken by other VMs)"][2][0].startswith("34")
    assert found["nodes that differ most"][0] == ("–", "the same performance of each cluster node")


def test_given_up_cell_reads_as_x_in_every_table(tmp_path: Path) -> None:
    run, _ = gathered(tmp_path)
    (result,) = [
        one for one in run.results if (one.platform, one.sweep, one.levels) == ("lab_crowded", "lite", {"streams": 28})
    ]
    assert state_of(result) == "failed"
    assert answer(result) == f"x: {GIVEN_UP}"


def test_reason_of_the_rule_that_gives_a_ramp_up_is_known() -> None:
    steps = [dataclasses.replace(record("lab_crowded", "lite", 24, 2).trial, ramp="lite.r2", give_up_after=1)]
    records_of = {steps[0].id: record("lab_crowded", "lite", 24, 2)}
    reason = given_up(steps, records_of)
    assert reason and GIVEN_UP_PATTERN.match(reason)
    assert not GIVEN_UP_PATTERN.match("the host has given up")


# Series.


def series(tmp_path: Path, found: list[TrialRecord] | None = None) -> dict[str, list[SeriesCourse]]:
    return series_courses(*gathered(tmp_path, found))


def test_series_is_the_first_one_with_its_levels_one_after_the_other(tmp_path: Path) -> None:
    found = series(tmp_path)
    assert list(found) == [LITE, "Full: all 99 queries"]
    assert [course.platform for course in found[LITE]] == list(PLATFORMS)
    course = found[LITE][0]
    assert (course.repetition, course.hosts, course.factor) == (1, list(HOSTS), "streams")
    assert [part.label for part in course.parts] == ["1", "4", "20", "24", "28"]
    assert course.parts[0].start_s == 0
    for one, other in zip(course.parts, course.parts[1:], strict=False):
        assert one.end_s == other.start_s
    first = record("lab_ideal", "lite", 1, 1)
    assert first.window_end_s and first.window_start_s
    assert course.parts[0].end_s == pytest.approx(first.window_end_s - first.window_start_s)


def test_lines_have_a_gap_between_levels_and_lie_within_them(tmp_path: Path) -> None:
    course = series(tmp_path)[LITE][0]
    seconds, percents = course.lines["CPU"]["sdw1"]
    assert [seconds[at] for at, value in enumerate(percents) if math.isnan(value)] == [p.end_s for p in course.parts]
    assert len(course.parts) == 5
    assert 0 < seconds[0] < seconds[-1] == course.parts[-1].end_s
    assert course.panels == ["CPU", "steal", "CPU pressure"], "nothing told of I/O pressure"


def test_level_that_failed_has_an_x_and_one_that_was_given_up_is_named(tmp_path: Path) -> None:
    found = [one for one in records() if one.trial.repetition != 1]
    course = series(tmp_path, found)[LITE][2]
    assert course.repetition == 2
    assert [part.label for part in course.parts] == ["1", "4", "20", "24 x"]
    assert course.parts[-1].words == "24 streams (x, failed)"
    assert course.left_out == [f"28 streams (not applicable: {GIVEN_UP})"]


def test_level_that_could_not_be_followed_to_its_end_has_its_last_seconds(tmp_path: Path) -> None:
    rows = [{"time_s": 1e9 + second, "cpu_percent": 99.0, "cpu_steal_percent": 30.0} for second in range(10)]
    lost = record("lab_crowded", "lite", 24, 2)
    lost = dataclasses.replace(
        lost, evidence={"last_telemetry": {"sdw1": rows}}, telemetry={}, window_start_s=None, window_end_s=None
    )
    course = series(tmp_path, [record("lab_crowded", "lite", level, 2) for level in (1, 4, 20)] + [lost])[LITE][0]
    assert course.parts[-1].words == "24 streams (x, failed, its last seconds alone)"
    assert course.parts[-1].end_s - course.parts[-1].start_s == pytest.approx(9)
    assert course.parts[-1].numbers["steal"] == "30.0, up to 30.0"
    assert course.lines["steal"]["sdw1"][1][-2] == 30


def test_series_of_one_level_is_drawn_and_tabulated_too(tmp_path: Path) -> None:
    run, views = gathered(tmp_path, [record(name, "lite", 4, 1) for name in PLATFORMS])
    assert [part.label for part in series_courses(run, views)[LITE][0].parts] == ["4"]
    assert query_tables(run, views[0])[0].levels == ["4 streams"]
    table = density_table(run, views)
    assert table is not None
    assert line(table, "lite", 4).cells[1].bounds == "no interval"
    assert table.medians[0][2][1] == "+50\u202f% over 1 level"


def test_many_hosts_are_drawn_as_median_and_range(tmp_path: Path) -> None:
    hosts = tuple(f"sdw{number}" for number in range(HOST_LINES_MAX + 1))
    few = series(tmp_path / "few")["Full: all 99 queries"][0]
    many = series(tmp_path / "many", [record("lab_ideal", "full", level, 1, hosts) for level in (1, 2)])
    assert not few.is_of_all_hosts
    assert many["Full: all 99 queries"][0].is_of_all_hosts


def test_host_that_died_in_the_middle_of_a_series_leaves_a_gap_not_a_zero(tmp_path: Path) -> None:
    hosts = tuple(f"sdw{number}" for number in range(8))
    found = [record("lab_ideal", "lite", level, 1, hosts if level < 20 else hosts[1:]) for level in LEVELS["lite"]]
    (course,) = series(tmp_path, found)[LITE]
    seconds, percents = course.lines["CPU"]["sdw0"]
    assert max(seconds) == course.parts[1].end_s
    assert min(value for value in percents if not math.isnan(value)) > 10
    assert 'role="img"' in render_report(archive_in(write(tmp_path / "page", found)), CATALOG)


def test_figure_is_said_in_words_and_in_numbers(tmp_path: Path) -> None:
    course = series(tmp_path)[LITE][2]
    assert course.sentence.startswith(
        "lab_crowded, 2 hosts, 1 stream, 4 streams, 20 streams, 24 streams: CPU at most 97"
    )
    assert course.parts[0].numbers["steal"] == "1.20, up to 1.80"
    assert course.parts[0].numbers["I/O pressure"] == "–"


def test_what_sessions_waited_for_stands_beside_cpu_and_disks(tmp_path: Path) -> None:
    """Of trials without phases, too."""
    of_level = {
        1: {"sessions_on_cpu": [1.0] * 6},
        4: {"sessions_on_cpu": [2.0] * 6, "sessions_waiting_for_io": [1.5] * 6},
    }
    seconds = [n + 0.5 for n in range(6)]
    disks = {"second": seconds, "cpu_percent": [50.0] * 6, "disk_read_mb_per_s": [8.0] * 6}
    found = [
        dataclasses.replace(
            one,
            evidence={"waits": {"looks": 60, "waits": [], "course": {"second": seconds, **of_level[level]}}},
            telemetry={"sdw1": {"course": disks}},
        )
        for level in of_level
        for one in [record("lab_ideal", "lite", level, 1)]
    ]
    (course,) = series(tmp_path, found)[LITE]
    assert course.panels == ["CPU", "read from disks", "sessions"], "nothing was written"
    assert list(course.lines["sessions"]) == ["CPU", "disks"]
    middles, waiting = course.lines["sessions"]["disks"]
    assert waiting[:6] == [0.0] * 6 and waiting[7:13] == [1.5] * 6 and math.isnan(waiting[6])
    assert middles[7] == course.parts[1].start_s + 0.5
    assert course.highest("sessions") == 3.5
    assert course.sentence.endswith("CPU at most 50.0 %; read from disks at most 8.00 MB/s; sessions at most 3.50.")
    assert course.parts[1].numbers["sessions"] == "2.00 CPU, 1.50 disks"
    assert "active sessions, by what they waited for" in draw_series(course, "k", 0.0)


def test_trials_of_a_few_seconds_are_no_series(tmp_path: Path) -> None:
    short = {"second": [0.5, 1.5, 2.5, 3.5], "cpu_percent": [50.0] * 4}
    found = [dataclasses.replace(record("lab_ideal", "lite", 1, 1), evidence={}, telemetry={"sdw1": {"course": short}})]
    assert series(tmp_path, found) == {}


def test_trials_of_several_phases_are_no_series(tmp_path: Path) -> None:
    found = [
        dataclasses.replace(one, evidence={**one.evidence, "phases": [*one.evidence["phases"]] * 2})
        for one in records()
        if one.outcome != "not_applicable"
    ]
    assert series(tmp_path, found) == {}


# Queries.


def queries(tmp_path: Path, found: Sequence[TrialRecord], platform: str = "lab_crowded") -> QueryTable:
    run, views = gathered(tmp_path, list(found))
    (table,) = [one for one in query_tables(run, views[0]) if one.platform == platform]
    return table


def test_queries_have_medians_over_streams_and_series_at_each_level_the_slowest_first(tmp_path: Path) -> None:
    table = queries(tmp_path, records())
    assert table.levels == ["1 stream", "4 streams", "20 streams", "24 streams"]
    assert [row.query for row in table.rows] == [3, 96]
    second = record("lab_crowded", "lite", 20, 2).measurements["response_time_s"]
    assert table.rows[0].medians[2] == pytest.approx(second / 103)


def test_errors_stand_by_query_with_their_words_once(tmp_path: Path) -> None:
    (error,) = queries(tmp_path, records()).errors
    assert (error.query, error.times, error.where) == (96, 2, "2 at 24 streams")
    assert error.words == "server closed the connection unexpectedly (process 9024)"


def test_time_of_a_query_that_ended_with_an_error_is_no_time(tmp_path: Path) -> None:
    found = [one for one in records() if one.outcome == "completed"]
    for one in found:
        noted: list[dict[str, Any]] = one.evidence["driver"]["queries"]
        for each in noted:
            if each["query"] == 3:
                each["error"] = "canceling statement due to statement timeout"
    table = queries(tmp_path, found)
    assert [row.query for row in table.rows] == [96]
    assert {error.query for error in table.errors} == {3}


def test_queries_with_fixed_parameters_are_said_in_a_sentence(tmp_path: Path) -> None:
    said = queries(tmp_path, records()).fixed
    assert said == ("1 query has the qualification values as parameters in every stream: 14 (two queries in one text).")


def test_run_whose_driver_noted_no_queries_has_no_such_table(tmp_path: Path) -> None:
    found = [dataclasses.replace(one, evidence={"driver": {}}) for one in records()]
    run, views = gathered(tmp_path, found)
    assert [query_tables(run, view) for view in views] == [[], []]


# The page.


def test_page_has_all_of_it_and_escapes_what_the_servers_said(tmp_path: Path) -> None:
    found = records()
    noted = next(one for one in found if one.outcome == "failed").evidence["driver"]["queries"]
    noted[-1]["error"] = "<script>alert(1)</script>"
    page = render_report(archive_in(write(tmp_path, found)), CATALOG)
    assert "<script" not in page
    seen = text_of(page)
    assert "Time of a test by concurrency and VM density" in seen
    assert "24 streams ours 0:03:34 3 of 3 0:05:21 3 of 3 0:09:10 x: 1 of 3 completed" in seen
    assert "only one measurement out of three was completed" in seen
    assert "Time of each query by concurrency, lab_crowded (2 queries; 2 runs of a query ended with an error)" in seen
    assert page.count('role="img"') >= 6 + 2
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.004, "0:00:00.00"), (2.314, "0:00:02.31"), (59.996, "0:01:00.00"), (60, "0:01:00"), (4324.4, "1:12:04")],
)
def test_clock_reads_as_in_the_paper(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


@pytest.mark.parametrize(
    ("ratio", "said"), [(1.677, "+68"), (1, "0"), (0.9947, "\u22121"), (0.999, "0"), (4.581, "+358"), (2.0, "+100")]
)
def test_change_reads_as_in_the_paper(ratio: float, said: str) -> None:
    assert words.change(ratio) == f"{said}\u202f%"


# Nodes.


def with_nodes(one: TrialRecord) -> TrialRecord:
    """The second host does half as much again, and its disks are the first's."""
    nodes = {"sdw1": {"cpu_s": 100.0 + one.trial.repetition}, "sdw2": {"cpu_s": 150.0 + one.trial.repetition}}
    measured = {**one.measurements, "node_cpu_max_over_mean": 1.2} if one.measurements else {}
    return dataclasses.replace(one, evidence={**one.evidence, "nodes": nodes}, measurements=measured)


def test_node_that_did_the_most_is_named_with_its_ratio_to_the_mean(tmp_path: Path) -> None:
    found = [with_nodes(one) for one in records({"lab_ideal": 0})]
    first, *_ = node_tables(gathered(tmp_path, found)[0])
    row = first.rows[0]
    assert (first.platform, row.what, row.nodes) == ("lab_ideal", "CPU-seconds", 2)
    assert (row.least, row.least_node, row.most, row.most_node) == (102.0, "sdw1", 152.0, "sdw2")
    assert (row.mean, row.ratio) == (127.0, pytest.approx(152 / 127))
    assert len(first.rows) == 7, "a line for each cell"


def test_figure_that_one_repetition_lacks_is_left_out(tmp_path: Path) -> None:
    found = [with_nodes(one) for one in records({"lab_ideal": 0})]
    found[0].evidence["nodes"]["sdw2"].clear()
    (table,) = node_tables(gathered(tmp_path, found)[0])
    assert len(table.rows) == 6


def test_page_says_whether_nodes_are_alike_and_what_the_paper_says(tmp_path: Path) -> None:
    seen = text_of(render_report(archive_in(write(tmp_path, [with_nodes(one) for one in records()])), CATALOG))
    assert "Whether its nodes are alike" in seen
    assert "CPU-seconds, s 2 102 sdw1 127 152 sdw2 1.20" in seen
    assert "nodes that differ most ours CPU 1.20 CPU 1.20 CPU 1.20 paper the same performance of each" in seen


def test_archive_without_nodes_has_no_such_table(tmp_path: Path) -> None:
    assert node_tables(gathered(tmp_path)[0]) == []
