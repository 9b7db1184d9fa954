"""Platforms side by side, from a captured real run: retail at laptop scale, one stream, both databases of the lab."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any, cast

import pytest

from clusterbench.base.archive import RunArchive, Store
from clusterbench.report.run.page import render_report
from clusterbench.report.run.platforms import Comparison, comparisons
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.gather import gather
from clusterbench.results.statistics import ratio
from tests.report.test_report import CAPTURED, CATALOG, Folder, text_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(CAPTURED / "retail" / "l1", tmp_path / "retail" / "l1")
    return tmp_path / "retail" / "l1"


def archive_in(folder: Path) -> RunArchive:
    return RunArchive(cast(Store, Folder(folder.parents[1])), "retail", "l1")


def compared(folder: Path) -> list[Comparison]:
    run = gather(archive_in(folder), CATALOG)
    return comparisons(run, SweepView.of_run(run))


def at_paper_size(folder: Path) -> None:
    """As if the run had had the paper's rows."""
    data = json.loads((folder / "results.json").read_text())
    for result in data["results"]:
        result["levels"]["rows"] = 2_300_000_000 if result["sweep"] == "data_load" else 8_400_000_000
    (folder / "results.json").write_text(json.dumps(data))


def results_of(folder: Path, sweep: str, platform: str) -> list[dict[str, Any]]:
    found = json.loads((folder / "results.json").read_text())["results"]
    return [result for result in found if (result["sweep"], result["platform"]) == (sweep, platform)]


def test_there_is_one_comparison_for_each_measurement_that_the_paper_compares(folder: Path) -> None:
    """Of throughput it has no ratio, so that nothing stands beside another size."""
    assert [entry.name for entry in compared(folder)] == ["response_time_s"]
    at_paper_size(folder)
    assert [entry.name for entry in compared(folder)] == ["response_time_s", "throughput_mb_per_s"]


def test_ours_are_the_cells_that_the_paper_measured_with_the_medians_of_the_results(folder: Path) -> None:
    times = compared(folder)[0]
    assert [(row.label, row.platform) for row in times.rows][:4] == [
        ("full scan, cold", "lab_db1"), ("full scan, cold", "lab_db2"),
        ("full scan, warm", "lab_db1"), ("full scan, warm", "lab_db2"),
    ]  # fmt: skip
    (load,) = [row for row in times.rows if (row.label, row.platform) == ("data load", "lab_db2")]
    (result,) = results_of(folder, "data_load", "lab_db2")
    assert load.summary is not None
    assert load.summary.median == result["measurements"]["response_time_s"]["median"]
    assert load.n_of_n == "3 of 3"


def test_ratio_is_to_the_first_platform_that_was_chosen(folder: Path) -> None:
    one, other = (results_of(folder, "data_load", name)[0] for name in ("lab_db1", "lab_db2"))
    values = [result["measurements"]["response_time_s"]["values"] for result in (one, other)]
    (said,) = [row.ratio for row in compared(folder)[0].rows if (row.label, row.platform) == ("data load", "lab_db2")]
    assert said.startswith(f"{ratio(values[1], values[0])[0]:.2f}×")
    run = json.loads((folder / "run.json").read_text())
    plan = json.loads((folder / "plan.json").read_text())
    run["choices"]["platforms"] = plan["choices"]["platforms"] = ["lab_db2", "lab_db1"]
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "plan.json").write_text(json.dumps(plan, sort_keys=True))
    turned = compared(folder)[0]
    assert turned.reference == "lab_db2"
    (said,) = [row.ratio for row in turned.rows if (row.label, row.platform) == ("data load", "lab_db1")]
    assert said.startswith(f"{ratio(values[0], values[1])[0]:.2f}×")


def test_every_published_value_has_a_row_in_a_figure_and_its_source(folder: Path) -> None:
    published = list(CATALOG.published("retail").values)
    at_paper_size(folder)
    entries = compared(folder)
    assert sum(len(entry.papers) for entry in entries) == len(published)
    assert sum(len(chart.papers) for entry in entries for chart in (entry.values, entry.ratios) if chart) == len(
        published
    )
    assert not any(entry.is_of_other_size for entry in entries)
    assert not any("not run here" in row.beside for entry in entries for row in entry.papers)
    page = text_of(render_report(archive_in(folder), CATALOG))
    for value in published:
        assert " ".join(value.source.split()) in page


def test_seconds_of_another_size_stand_beside_nothing_and_are_not_drawn(folder: Path) -> None:
    (times,) = compared(folder)
    assert times.is_of_other_size
    assert times.values.papers == []
    assert times.ratios is not None and len(times.ratios.papers) == 11
    rows = {(row.label, row.text): row.beside for row in times.papers}
    assert rows["full scan, vm1", "991"] == "of 1 stream, 8400M rows, not run here"
    assert rows["data load, vm1", "1\u202f514"] == "of 2300M rows, not run here"
    page = text_of(render_report(archive_in(folder), CATALOG))
    assert "They have another size of data than the paper's , so only its ratios stand beside ours" in page


def test_ratio_of_another_size_stands_beside_the_platforms_of_the_paper_and_says_of_which(folder: Path) -> None:
    for name in ("run.json", "plan.json", "results.json"):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace('"lab_db1"', '"vm1"').replace('"lab_db2"', '"vm2"'))
    (times,) = compared(folder)
    (row,) = [row for row in times.papers if (row.label, row.text) == ("full scan, vm2 / vm1", "≈\u202f0.84")]
    assert re.fullmatch(
        r"of 8400M rows, not run here; full scan, cold: ours \d.*; full scan, warm: ours \d.*", row.beside
    )
    (absolute,) = [row for row in times.papers if (row.label, row.text) == ("full scan, vm2", "829")]
    assert absolute.beside == "of 1 stream, 8400M rows, not run here", "a platform of that name is not enough"


def test_ratios_are_drawn_around_one_and_named_after_both_platforms(folder: Path) -> None:
    chart = compared(folder)[0].ratios
    assert chart is not None
    assert chart.reference == 1.0
    assert [series.name for series in chart.lines if series.marks] == ["lab_db2 / lab_db1"]
    assert "paper: data load, vm2 interleaved / vm1" in chart.rows


def test_a_cell_that_did_not_complete_has_no_number_and_stays(folder: Path) -> None:
    data = json.loads((folder / "results.json").read_text())
    for result in data["results"]:
        if (result["sweep"], result["platform"]) == ("data_load", "lab_db2"):
            result |= {"completed": 0, "outcomes": {"failed": 3}, "reasons": ["it broke"], "measurements": {}}
    (folder / "results.json").write_text(json.dumps(data))
    times = compared(folder)[0]
    (load,) = [row for row in times.rows if (row.label, row.platform) == ("data load", "lab_db2")]
    assert (load.n_of_n, load.summary, load.ratio) == ("0 of 3", None, "")
    assert re.search(r"data load lab_db2 0 of 3 no number", text_of(render_report(archive_in(folder), CATALOG)))


def test_published_values_are_printed_as_they_were_printed(folder: Path) -> None:
    page = render_report(archive_in(folder), CATALOG)
    for text in ("1\u202f514", "991", "≈\u202f1\u202f446", "≈\u202f1.055", "≈\u202f0.89"):
        assert text in page
