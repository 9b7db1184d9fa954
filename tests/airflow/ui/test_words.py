"""Addresses that stay, and texts that do nothing on a page."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast
from urllib.parse import unquote

from clusterbench.airflow.ui import one_run, reports
from clusterbench.airflow.ui.over_time import as_csv
from clusterbench.airflow.ui.page_request import NotShown, PageRequest
from clusterbench.airflow.ui.template import render, sentence
from clusterbench.base.archive import Store
from clusterbench.base.errors import ArchiveError
from clusterbench.history.model import FailedTrial, Point, RunRow, Series
from clusterbench.report import addresses
from clusterbench.report.run.findings import Finding, Findings

SERIES = Series(
    7,
    "key_value",
    "laptop",
    "vm4",
    "concurrency",
    "200 clients",
    {"clients": 200, "cache": "warm"},
    "p95",
    "ms",
    "lower",
)
WHEN = datetime(2026, 11, 21, 20, tzinfo=UTC)
RUN = RunRow(
    *("key_value", "20261121T200000Z-abcdef", "T", "laptop", True, WHEN, None, ("vm4",), 3, 2),
    *("manual__2026-11-21T20:00:00+00:00", {}, {}, "s3://b/key_value/"),
)


def test_a_series_is_named_by_what_it_is() -> None:
    """Another rebuild of the history gives it another number, and may tell its levels in another order."""
    again = replace(SERIES, id=99, label="other words", levels={"cache": "warm", "clients": 200})
    assert addresses.series(again) == addresses.series(SERIES)
    for other in ({"levels": {"clients": 100, "cache": "warm"}}, {"sweep": "tables"}, {"platform": "vm1"}):
        assert addresses.series(replace(SERIES, **other)) != addresses.series(SERIES)


def test_the_log_of_a_trial_is_where_airflow_has_it() -> None:
    trial = FailedTrial("vm4", "c.1.r3", "200 clients", "failed", "because", 41)
    found = addresses.task_log(RUN, trial)
    assert found.endswith("/tasks/vm4.trials/mapped/41")
    assert "+" not in found and "manual__2026-11-21T20:00:00+00:00" in unquote(found)
    in_turns = replace(RUN, in_turns=("vm2", "vm4"))
    assert addresses.task_log(in_turns, trial).endswith("/tasks/in_turns.trials/mapped/41")


def test_what_others_wrote_is_text() -> None:
    page = render("not_shown.html.j2", "/bench", "", error=NotShown(404, "<i>", "<script>alert(1)</script>"))
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page and "<i>" not in page


def test_a_sentence_begins_large_and_an_address_stays() -> None:
    assert sentence("slower: +9 %") == "Slower: +9 %"
    assert sentence("s3://bucket/x is not there") == "s3://bucket/x is not there"
    assert sentence("key_value was not run") == "key_value was not run"


def test_csv_has_every_run_and_no_number_where_there_is_none() -> None:
    points = [
        Point("run1", WHEN, True, 3, 3, 12.25, (12.0, 12.5), "f"),
        Point("run2", WHEN, False, 0, 3, None, None, "f", "withdrawn by ann on 1 Dec 2026: no disk"),
    ]
    lines = as_csv(SERIES, points).splitlines()
    assert lines[0] == "run,started_at,valid,withdrawn,completed,planned,median_ms,low_95,high_95"
    assert lines[1] == "run1,2026-11-21T20:00:00+00:00,True,,3,3,12.25,12.0,12.5"
    assert lines[2] == "run2,2026-11-21T20:00:00+00:00,False,withdrawn by ann on 1 Dec 2026: no disk,0,3,,,"


def test_page_of_a_run_begins_with_what_was_found_and_what_others_wrote_is_text() -> None:
    shown = one_run.Page(RUN, [], [], [], 0, "vm4", [], {}, [], [], 0, 1, 1)
    said = Findings("", (Finding("concurrency", "warm is <b>3.4</b> times cold"),), ("one cell: <i>",), "Of one run.")
    page = render("run.html.j2", "/bench", "", page=shown, findings=said)
    assert page.index("What was found") < page.index("Results")
    assert "warm is &lt;b&gt;3.4&lt;/b&gt; times cold" in page and "one cell: &lt;i&gt;" in page
    assert "What was found" not in render("run.html.j2", "/bench", "", page=shown, findings=None)


def test_findings_that_cannot_be_read_leave_the_page_as_it_is() -> None:
    def away() -> Store:
        raise ArchiveError("object storage is away")

    visit = cast(PageRequest, SimpleNamespace(store=away))
    assert reports.findings(visit, "key_value", RUN.run_id) is None
