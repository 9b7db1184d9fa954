"""The report of an OLTP load: system's side, equal utilisation, throughput over time, types, load found, durability."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.records import TrialRecord
from clusterbench.report.run import trial_tables
from clusterbench.report.run.equal_utilisation import Pair, pairs, papers
from clusterbench.report.run.labels import durability_read, labelled, not_durable
from clusterbench.report.run.load_found import searches
from clusterbench.report.run.page import render_report
from clusterbench.report.run.per_type import is_of_a_type, type_table
from clusterbench.report.run.platforms import comparisons
from clusterbench.report.run.steadiness import Steadiness, steadiness
from clusterbench.report.run.sweeps import SweepView
from clusterbench.report.run.system import SystemTable, printed_tables, system_tables
from clusterbench.results.gather import Gathered, gather, workload_or_none
from tests.order_entry_run import ALL_ON, NOTICE, PLATFORMS, SHARES, as_the_papers, record, records, write
from tests.report.test_report import CATALOG, Folder, text_of

AT_60 = {"cpu_percent": 60, "clients": 64}
OFF = {**ALL_ON, "fsync": "off", "full_page_writes": "off"}
LABEL = "(not durable: fsync off, full_page_writes off)"


def archive_in(folder: Path) -> RunArchive:
    return RunArchive(cast(Store, Folder(folder.parents[1])), "order_entry", "o1")


def gathered(folder: Path, found: Sequence[TrialRecord] | None = None) -> tuple[Gathered, list[SweepView]]:
    run = gather(archive_in(write(folder, found)), CATALOG)
    return run, SweepView.of_run(run)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Gathered, list[SweepView]]:
    return gathered(tmp_path_factory.mktemp("order_entry"))


Made = tuple[Gathered, list[SweepView]]


def view_of(made: Made, name: str) -> SweepView:
    return next(view for view in made[1] if view.name == name)


# The system's side.


def system_of(made: Made, *, is_one_machine: bool = True) -> list[SystemTable]:
    return system_tables(*made, is_one_machine=is_one_machine)


def test_there_is_a_table_for_the_best_throughput_and_for_each_utilisation(made: Made) -> None:
    best, equal = system_of(made)
    assert best.title == "Throughput by clients: where throughput was highest"
    assert equal.title.startswith("Native and virtual at equal CPU utilisation: ")
    assert [(column.platform, column.said) for column in best.columns] == [
        ("lab_native", "16 clients, 3 of 3"), ("lab_vm64", "16 clients, 3 of 3"), ("lab_busy", "16 clients, 3 of 3"),
    ]  # fmt: skip
    assert [column.said for column in equal.columns] == ["7 clients, 3 of 3"] * 3, "those that were found, not 64"
    assert (best.papers, equal.papers) == ([], []), "neither load nor size are the paper's"


def test_rows_are_the_paper_s_with_ours_and_its_numbers(made: Made) -> None:
    profile, guest, loopback = system_of(made)[1].groups
    assert profile.title == "Load profile, native and virtual (Table 2)"
    rows = {row.label: row for row in profile.rows}
    throughput = rows["Throughput in transactions per second"]
    assert [summary and summary.median for summary in throughput.ours] == [1000, 895, 950]
    assert throughput.ours[0] and throughput.ours[0].values == [990, 1000, 1010]
    assert throughput.papers == [], "of 10 warehouses and 60 %"
    assert rows["Throughput per CPU-second"].ours[0].median == pytest.approx(1000 / (1.2 * 0.602))  # type: ignore[union-attr]
    assert [row.label for row in guest.rows] == [
        "Interrupts per second", "Disk IOPS", "Context switches per second", "Load average",
    ]  # fmt: skip
    assert [row.ours[0].median for row in loopback.rows if row.ours[0]] == [4200, 3]


def test_numbers_of_the_paper_stand_beside_its_own_cells(tmp_path: Path) -> None:
    """Native at 85 %; the VM where its guest is at 90 %."""
    native, guest = system_of(gathered(tmp_path, as_the_papers()))
    assert (native.title.rsplit(": ", 1)[-1].split(",")[0], native.papers) == ("85 % CPU", ["order_entry_native"])
    assert guest.papers == ["order_entry_vm"]
    rows = {row.label: row.papers for group in (native.groups[0], guest.groups[0]) for row in group.rows}
    assert (rows["Throughput in transactions per second"], rows["Disk megabytes/second"]) == (["59\u202f500"], ["831"])
    assert rows["Throughput per CPU-second"] == ["1\u202f031"], "of the guest's processors"
    assert native.groups[0].rows[0].papers == ["66\u202f500"]
    assert guest.groups[1].rows[0].papers == ["327\u202f000"], "Table 3 is of the guest alone"
    assert native.groups[1].rows[0].papers == ["–"]


def test_loopback_has_rows_only_where_hosts_are_one_machine(made: Made) -> None:
    assert [len(table.groups) for table in system_of(made, is_one_machine=False)] == [2, 2]


def test_platform_without_a_number_has_no_column(tmp_path: Path) -> None:
    found = [record(platform, "utilisation", AT_60, 1) for platform in PLATFORMS]
    found[1] = dataclasses.replace(found[1], outcome="failed", reason="it broke", measurements={})
    assert [column.platform for column in system_of(gathered(tmp_path, found))[-1].columns] == [
        "lab_native",
        "lab_busy",
    ]


def test_without_the_paper_the_rows_are_all_that_was_measured(made: Made) -> None:
    run, views = made
    (group,) = system_tables(dataclasses.replace(run, published=None), views, is_one_machine=False)[0].groups
    assert len(group.rows) == 12
    assert group.rows[0].papers == []


def test_other_tables_of_the_paper_stand_with_facts_of_ours(made: Made) -> None:
    software, profile, guest, figure, sentences = printed_tables(*made)
    assert (profile.title, guest.title) == ("Load profile, native and virtual", "The operating system's statistics")
    assert profile.cell == "32k warehouses; order_entry_native: 85 % CPU; order_entry_vm: 90 % CPU"
    assert (software.cell, figure.cell) == ("", "")
    assert [values for _, values in software.rows] == [
        ["–", "Release 6.0"],
        ["RHEL 7.1 64-bit (3.10.0-229)"] * 2,
        ["Oracle 12C (12.1.0.2.0)"] * 2,
    ]
    assert software.ours[0] == ("lab_native", ["KVM", "Debian 12, 6.1.0", "PostgreSQL 15.18"])
    assert figure.rows[2][1] == ["–", "54\u202f800", "–", "69\u202f600"]
    assert "must be thousands" in figure.rows[2][0].note
    assert (len(sentences.rows), sentences.ours) == (8, [])


def test_tables_that_stand_beside_our_cells_are_not_printed_again(tmp_path: Path) -> None:
    assert [table.title for table in printed_tables(*gathered(tmp_path, as_the_papers()))] == [
        "Software of the server", "Absolute throughputs", "What the text says besides",
    ]  # fmt: skip


# Equal utilisation.


def test_setting_of_the_servers_that_varies_is_no_concurrency(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    run, views = made
    titles = [table.title for table in printed_tables(run, views)]
    for view in views:
        monkeypatch.setattr(view, "varied", [*view.varied, "server.work_mem"])
    assert [table.title for table in printed_tables(run, views)] == titles


def pair_of(found: Sequence[Pair], platform: str) -> Pair:
    (pair,) = [each for each in found if each.platform == platform]
    return pair


def test_ratio_has_its_interval_both_utilisations_and_a_plain_word(made: Made) -> None:
    pair = pair_of(pairs(*made), "lab_vm64")
    assert re.fullmatch(r"0\.9\d× \(0\.8\d – 0\.92\)", pair.throughput)
    assert (pair.utilisation, pair.reference) == ("59.4 % and 60.2 %", "lab_native")
    assert re.fullmatch(r"10 % slower \([\d.]+ to 1\d %\)", pair.word)
    assert pair.per_cpu_second.startswith("0.91× ("), "0.895 by 59.4 over 60.2"


def test_ratio_that_may_be_none_shows_no_difference(tmp_path: Path) -> None:
    found = [record(platform, "utilisation", AT_60, n) for platform in PLATFORMS[:2] for n in (1, 2, 3)]
    for number, each in enumerate(found[3:]):
        found[3 + number] = dataclasses.replace(
            each, measurements={**each.measurements, "throughput_per_s": 1001.0 - number}
        )
    assert pair_of(pairs(*gathered(tmp_path, found)), "lab_vm64").word.startswith("no difference shown (")


def test_two_repetitions_are_too_few_to_tell(tmp_path: Path) -> None:
    found = [record(platform, "utilisation", AT_60, n) for platform in PLATFORMS[:2] for n in (1, 2)]
    pair = pair_of(pairs(*gathered(tmp_path, found)), "lab_vm64")
    assert pair.throughput == "0.90×, no interval"
    assert pair.word == "not comparable: an interval needs 3 repetitions, lab_vm64 has 2, lab_native has 2"


def test_utilisations_that_lie_apart_are_not_compared_anywhere(made: Made) -> None:
    pair = pair_of(pairs(*made), "lab_busy")
    assert pair.refused == (
        "not compared: the CPU utilisations, 64.5 % on lab_busy and 60.2 % on lab_native, are more than 3 points apart"
    )
    assert (pair.throughput, pair.word, pair.per_cpu_second) == ("", "", "")
    assert comparisons(*made) == [], "60 % is none of the paper's"
    rows = view_of(made, "utilisation").plots[0].rows
    assert [row.ratio for row in rows if row.platform == "lab_busy"] == [pair.refused]


def test_utilisations_that_lie_apart_are_not_compared_where_the_paper_has_numbers(tmp_path: Path) -> None:
    found = as_the_papers(("lab_native", "lab_busy"))
    busy = {"cpu_percent": 88.4}
    for number, each in enumerate(found):
        if each.trial.platform == "lab_busy" and each.trial.levels["cpu_percent"] == 85:
            found[number] = dataclasses.replace(each, measurements={**each.measurements, **busy})
    (entry,) = comparisons(*gathered(tmp_path, found))
    (refused,) = [row.ratio for row in entry.rows if (row.label, row.platform) == ("utilisation, 85 % CPU", "lab_busy")]
    assert refused.startswith("not compared: the CPU utilisations, 88.4 % on lab_busy and 84.8 % on lab_native")
    assert entry.ratios is not None
    assert [len(line.marks) for line in entry.ratios.lines] == [1], "at 90 % they are"


def test_unknown_utilisation_is_not_compared(tmp_path: Path) -> None:
    found = [record(platform, "utilisation", AT_60, n) for platform in PLATFORMS[:2] for n in (1, 2, 3)]
    for each in found[3:]:
        dict.pop(cast(dict[str, float], each.measurements), "cpu_percent")
    assert pair_of(pairs(*gathered(tmp_path, found)), "lab_vm64").refused == (
        "not compared: the CPU utilisation of lab_vm64 is not known"
    )


def test_platform_without_a_number_is_not_compared_and_says_why(tmp_path: Path) -> None:
    found = [record(platform, "utilisation", AT_60, 1) for platform in PLATFORMS[:2]]
    found[1] = dataclasses.replace(found[1], outcome="not_applicable", reason="44 % at most", measurements={})
    pair = pair_of(pairs(*gathered(tmp_path, found)), "lab_vm64")
    assert (pair.refused, pair.n_of_n) == ("not compared: lab_vm64: not applicable: 44 % at most", "0 of 1 and 1 of 1")


def test_cells_of_other_sweeps_are_compared_as_ever(made: Made) -> None:
    rows = view_of(made, "clients").plots[0].rows
    assert all(row.ratio for row in rows if row.platform != "lab_native")


def test_guest_at_the_papers_utilisation_stands_beside_native_at_the_servers(tmp_path: Path) -> None:
    """Although 90 and 85 are more than 3 points apart: the paper's server was equally busy at them."""
    found = {pair.label: pair for pair in pairs(*gathered(tmp_path, as_the_papers()))}
    same, other, papers_own = found.values()
    assert (same.utilisation, other.utilisation) == ("84.8 % and 84.8 %", "90.3 % and 90.3 %")
    assert list(found)[2] == "90 % CPU over 85 %, as the paper"
    assert (papers_own.utilisation, papers_own.refused) == ("90.3 % and 84.8 %", "")
    assert papers_own.throughput.startswith("0.90× (")


@pytest.mark.parametrize("platforms", [("lab_native", "lab_busy"), ("lab_vm64", "lab_native")])
def test_only_a_guest_beside_a_native_server_is_compared_like_that(platforms: tuple[str, str], tmp_path: Path) -> None:
    found = pairs(*gathered(tmp_path, as_the_papers(platforms)))
    assert [pair.label for pair in found] == ["85 % CPU", "90 % CPU"]


def test_ratio_of_the_paper_is_of_two_utilisations(tmp_path: Path) -> None:
    (entry,) = comparisons(*gathered(tmp_path, as_the_papers()))
    assert [(row.label, row.platform) for row in entry.rows] == [
        ("utilisation, 85 % CPU", "lab_native"), ("utilisation, 85 % CPU", "lab_vm64"),
        ("utilisation, 90 % CPU", "lab_native"), ("utilisation, 90 % CPU", "lab_vm64"),
    ]  # fmt: skip
    beside = {row.text: row.beside for row in entry.papers}
    assert beside["69\u202f600"] == "of 32k warehouses, 91 % CPU, not run here"
    assert beside["66\u202f500"] == "", "it was, on platforms of other names"


def test_paper_s_ratios_stand_with_their_sources(made: Made) -> None:
    assert [(platforms, ratio) for platforms, ratio, _ in papers(made[0])] == [
        ("order_entry_vm at 90 % / order_entry_native at 85 %", "0.895×"),
        ("order_entry_vm at 90 % / order_entry_native at 85 %", "0.90×"),
        ("order_entry_vm_esxi51 at 77 % / order_entry_native_westmere at 77 %", "0.70×"),
    ]


# Throughput over time.


def steady(made: Made, sweep: str, platform: str) -> Steadiness:
    found = steadiness(*made)[view_of(made, sweep).title]
    return next(cell for cell in found if cell.platform == platform)


def test_best_repetition_is_drawn_with_its_trend_in_words(made: Made) -> None:
    cell = steady(made, "utilisation", "lab_native")
    assert (cell.repetition, cell.trend, cell.word) == (3, "+1.8\u202f% over the window", "steady")
    assert cell.others == "best of 3 repetitions, the others \u22120.2\u202f%, +0.8\u202f%"
    assert [name.lower().replace("-", "_") for name in cell.lines] == list(SHARES)
    assert len(cell.total) == 80, "240 parts of half a second, three together"
    assert cell.part_s == 1.5
    assert sum(cell.total) / 80 == pytest.approx(1010, rel=0.01)


def test_window_whose_throughput_falls_is_not_steady(made: Made) -> None:
    cell = steady(made, "utilisation", "lab_busy")
    assert (cell.trend, cell.word) == ("\u221221.0\u202f% over the window", "not steady")
    assert "not steady" in cell.sentence


def test_trial_whose_driver_noted_nothing_over_time_is_left_out(tmp_path: Path) -> None:
    found = [dataclasses.replace(each, evidence={"driver": {}}) for each in records(PLATFORMS[:1])]
    assert steadiness(*gathered(tmp_path, found)) == {}


# Types, and how wide tables are.


def test_types_have_a_group_each_with_medians(made: Made) -> None:
    table = type_table(view_of(made, "clients"))
    assert table is not None
    assert [title for title, _ in table.groups] == [
        "All types", "New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level",
    ]  # fmt: skip
    assert table.columns[-2:] == ["rolled back, 1/s", "retries, 1/s"]
    delivery = next(row for row in table.groups[4][1] if row.platform == "lab_native")
    assert delivery.values[:2] == pytest.approx([0.04 * 60, 6 * 0.8 * 1000 / 60])
    everything = table.groups[0][1][0].values
    assert everything[-2:] == pytest.approx([0.27, 1.2])


def test_tables_of_everything_leave_out_what_has_its_own(made: Made) -> None:
    matrix = trial_tables.measurement_matrix(view_of(made, "clients"))
    assert len(matrix["columns"]) <= 12
    names = [name for name, _ in trial_tables.trial_columns(made[0])]
    assert "throughput_per_s" in names
    assert not [name for name in names if is_of_a_type(view_of(made, "clients").workload, name)]


def test_other_workloads_have_no_types() -> None:
    assert not is_of_a_type(workload_or_none("key_value"), "latency_ms_p99")


# The load found.


def test_every_step_of_the_search_stands_with_what_was_found(made: Made) -> None:
    found = searches(made[0], view_of(made, "utilisation"))
    assert [(each.platform, each.trial.rsplit(" ", 1)[-1]) for each in found[:4]] == [
        ("lab_native", "(#1)"), ("lab_native", "(#2)"), ("lab_native", "(#3)"), ("lab_vm64", "(#1)"),
    ]  # fmt: skip
    second = found[1]
    assert second.found == "7 clients, held at 900 per second"
    assert [what for what, _ in second.rows] == ["step 1", "step 2", "step 3", "step 4", "measured"]
    assert second.rows[2][1] == [8, None, 71.0, pytest.approx(1000 * 71 / 60.2), None]
    assert second.rows[-1][1] == [7, 900.0, 60.2, 1000.0, None]
    assert searches(made[0], view_of(made, "clients")) == []


def test_search_for_a_rate_says_between_which_two_it_is(tmp_path: Path) -> None:
    one = record("lab_native", "utilisation", AT_60, 1)
    steps = [{"rate_per_s": 372.0, "length": 6, "throughput_per_s": 371.0, "response_ms": 25.0}]
    load = {"response_ms_p99": 50.0, "steps": steps, "clients": 8, "rate_per_s": 372.0, "above_per_s": 546.0}
    run, (view,) = gathered(tmp_path, [dataclasses.replace(one, evidence={"load": load})])
    (search,) = searches(run, view)
    assert search.found.endswith("held at 372 per second; the highest rate below the limit is between that and 546")
    assert search.rows[0] == ("step 1", [None, 372.0, None, 371.0, 25.0])


def test_search_that_found_no_load_says_why(tmp_path: Path) -> None:
    one = record("lab_native", "utilisation", AT_60, 1)
    evidence = {"load": {"cpu_percent": 60.0, "steps": one.evidence["load"]["steps"][:2]}}
    reason = "64 clients make the processors 44 % busy, no more"
    lost = dataclasses.replace(one, outcome="not_applicable", reason=reason, measurements={}, evidence=evidence)
    run, (view,) = gathered(tmp_path, [lost])
    (search,) = searches(run, view)
    assert (search.found, [what for what, _ in search.rows]) == (reason, ["step 1", "step 2"])


# The page, durable and not.


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two platforms, of which one is not durable."""
    folder = write(tmp_path_factory.mktemp("page"), records(PLATFORMS[:2]), {"lab_vm64": OFF}, without_evidence=True)
    return render_report(archive_in(folder), CATALOG)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One platform only, which is not durable: other tables would not even name it."""
    found = records(["lab_vm64"], repetitions=1)
    folder = write(tmp_path_factory.mktemp("alone"), found, {"lab_vm64": OFF}, without_evidence=True)
    return render_report(archive_in(folder), CATALOG)


def parts(page: str) -> list[str]:
    """The text of every table and figure, as it is read; in most figures the platform is in the caption."""
    found = re.findall(r"<(table|figure)\b[^>]*>(.*?)</\1>", page, flags=re.DOTALL)
    return [" ".join(text_of(body).replace("\u200b", "").split()) for _, body in found]


def test_page_says_what_it_is_and_is_no_result_of(page: str) -> None:
    seen = text_of(page)
    assert NOTICE in seen
    assert "lab_vm64: fsync off, synchronous_commit on, full_page_writes off" in seen
    assert "lab_vm64 is not durable: fsync off, full_page_writes off." in seen
    assert "2 cells are not durable: synchronous_commit off." in seen
    for title in (
        "Platforms at equal CPU utilisation",
        "What the throughput cost: CPU, disk, network",
        "Throughput over time",
    ):
        assert f">{title}</h2>" in page.replace("&#39;", "'")
    assert "its loopback, so it is shown there and not as network" in seen
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("which", ["alone", "page"])
def test_no_table_and_no_figure_names_the_platform_without_its_label(
    which: str, request: pytest.FixtureRequest
) -> None:
    found = parts(request.getfixturevalue(which))
    naming = [part for part in found if re.search(r"\blab_vm64\b", part)]
    assert len(naming) > 15
    for part in naming:
        assert len(re.findall(r"\blab_vm64\b", part)) == part.count(f"lab_vm64 {LABEL}"), part[:300]


def test_tables_of_numbers_name_a_platform_that_is_not_durable_even_where_it_is_the_only_one(alone: str) -> None:
    numbers = [part for part in parts(alone) if re.search(r"\b\d+ clients?, \d+ warehouses\b|\b16 clients\b", part)]
    assert len(numbers) > 8
    assert [part[:200] for part in numbers if LABEL not in part] == []


def test_cells_that_their_levels_make_not_durable_say_so_wherever_they_are_named(page: str) -> None:
    on_page = " ".join(text_of(page).split())
    assert on_page.count("synchronous_commit off") > 25
    assert on_page.count("synchronous_commit off") == on_page.count("not durable: synchronous_commit off")
    assert on_page.count("synchronous_commit on") > 15


def test_sweep_all_of_whose_cells_are_not_durable_says_so_in_its_figure(tmp_path: Path) -> None:
    levels = [{"clients": clients, "synchronous_commit": "off"} for clients in (1, 4)]
    found = [record("lab_native", "durability", one, n) for one in levels for n in (1, 2, 3)]
    (view,) = gathered(tmp_path, found)[1]
    chart = view.plots[0].chart
    assert chart is not None
    assert [series.name for series in chart.lines] == ["not durable: synchronous_commit off"]


def test_head_says_which_platforms_nothing_was_read_back_of(made: Made) -> None:
    run = labelled(made[0])
    assert durability_read(run) == "fsync on, synchronous_commit on, full_page_writes on"
    less = {name: facts for name, facts in run.durability.settings.items() if name != "lab_busy"}
    kept = dataclasses.replace(run.durability, settings=less, cells={})
    assert durability_read(dataclasses.replace(run, durability=kept)) == (
        "lab_native, lab_vm64: fsync on, synchronous_commit on, full_page_writes on; "
        "lab_busy: not known, nothing was read back"
    )
    assert not_durable(dataclasses.replace(run, durability=kept)) == []
