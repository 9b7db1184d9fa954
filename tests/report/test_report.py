"""The page of one run, made from captured real runs: a smoke-scale run of key_value with nine failed trials."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from clusterbench.base import words
from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.paths import project_root
from clusterbench.report.run.page import render_report
from clusterbench.results.statistics import interval_95
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.placement_rules import described
from clusterbench.spec.published import published_text
from tests import FIXTURES

CAPTURED = FIXTURES / "runs"
CATALOG = Catalog(project_root())


class Folder:
    """Objects in files, for reading: what a report needs of a store."""

    url = "s3://clusterbench/"
    endpoint = "a folder"

    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, key: str) -> bytes | None:
        path = self.root / key
        return path.read_bytes() if path.is_file() else None

    def keys(self, prefix: str) -> Iterator[str]:
        names = (str(path.relative_to(self.root)) for path in sorted(self.root.rglob("*")) if path.is_file())
        return (name for name in names if name.startswith(prefix))

    def folders(self, prefix: str) -> list[str]:
        below = self.root / prefix
        return sorted(path.name for path in below.iterdir() if path.is_dir()) if below.is_dir() else []


Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The page of the captured run, after changes to its folder."""

    def render(change: Callable[[Path], object] = lambda folder: None) -> str:
        folder = tmp_path / "key_value" / "s1"
        shutil.copytree(CAPTURED / "key_value" / "s1", folder, dirs_exist_ok=True)
        change(folder)
        store = cast(Store, Folder(tmp_path))
        return render_report(RunArchive(store, "key_value", "s1"), CATALOG)

    return render


def text_of(page: str) -> str:
    """What a reader sees: without styles, tags and line breaks."""
    bare = re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL)
    return re.sub(r"[ \n\t]+", " ", html.unescape(re.sub(r"<[^>]+>", " ", bare)))


def edit(folder: Path, name: str, change: Callable[[Any], object]) -> None:
    path = folder / name
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def keep_only(*names: str) -> Callable[[Path], None]:
    def remove(folder: Path) -> None:
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_file() and path.name not in names:
                path.unlink()

    return remove


def test_the_verdict_is_said_in_words_and_with_its_reason(run: Run) -> None:
    seen = text_of(run())
    assert "Key-value lookups of JSON documents not valid Experiment" in seen
    assert "No trial failed or ran out of time: 9 of 25 failed or timed out" in seen


def test_a_valid_run_is_said_to_be_valid(run: Run) -> None:
    def mend(folder: Path) -> None:
        def all_pass(data: dict[str, Any]) -> None:
            data["valid"] = True
            for verdict in data["verdicts"]:
                verdict["passed"] = True

        edit(folder, "verdicts.json", all_pass)

    seen = text_of(run(mend))
    assert "Key-value lookups of JSON documents valid Experiment" in seen and "not valid" not in seen


def test_warnings_alone_leave_a_run_valid_and_are_named(run: Run) -> None:
    def mend(folder: Path) -> None:
        def critical_pass(data: dict[str, Any]) -> None:
            data["valid"] = True
            for verdict in data["verdicts"]:
                verdict["passed"] = verdict["check"] != 4
                if verdict["check"] == 4:
                    verdict["critical"] = False

        edit(folder, "verdicts.json", critical_pass)

    seen = text_of(run(mend))
    assert "not valid" not in seen
    assert "Key-value lookups of JSON documents valid with warnings Experiment" in seen


def rehearsed(folder: Path) -> None:
    edit(folder, "run.json", lambda opened: opened["choices"].update({"scale": "full", "rehearse": 1000}))


def test_a_rehearsal_is_said_to_be_one_and_has_no_published_value_beside_it(run: Run) -> None:
    page, full = (
        run(rehearsed),
        run(lambda folder: edit(folder, "run.json", lambda o: o["choices"].update(scale="full"))),
    )
    seen = text_of(page)
    assert re.search(r"<h1>[^<]*, rehearsed 1:1,000</h1>", page) and re.search(r"<title>[^<]*rehearsed 1:1,000", page)
    assert "scale rehearsal_1000" in seen
    assert "A rehearsal: full scale with every size divided by 1,000." in seen
    assert 'class="paper"' in full and 'class="paper"' not in page
    assert "rehears" not in text_of(full).lower()


def test_all_eight_checks_stand_with_what_was_found(run: Run) -> None:
    page = run()
    seen = text_of(page)
    for check in (
        "The data is right",
        "The answers are right",
        "The caches were as said",
        "The load driver was not the bottleneck",
        "The hosts were quiet",
        "Repetitions, in random order",
        "Nothing is dropped",
        "The platform is what it claims to be",
    ):
        assert check in seen
    for verdict in json.loads((CAPTURED / "key_value/s1/verdicts.json").read_text())["verdicts"]:
        assert verdict["says"] in seen


PAPER = CATALOG.published("key_value").values


def as_the_paper(folder: Path) -> None:
    """A cell of ours becomes one that the paper measured."""

    def change(data: dict[str, Any]) -> None:
        ours = next(each for each in data["results"] if each["cell"] == "optimizer.optimizer_planner")
        value = next(value for value in PAPER if value.sweep == "optimizer")
        ours["levels"] |= value.levels
        ours["measurements"][value.measurement] |= {"values": [122, 121, 123], "median": 122, "n": 3}

    edit(folder, "results.json", change)


def test_ours_over_the_papers_stands_below_it_with_interval_and_word(run: Run) -> None:
    seen = text_of(run(as_the_paper))
    low, high = (bound / 61 for bound in interval_95([121, 122, 123]) or ())
    assert f"ours 2.00× ({low:.2f} – {high:.2f}), slower" in seen
    assert "a printed number has no repetitions, so the 95 % interval is that of ours alone" in seen


def test_page_without_a_cell_of_the_paper_has_no_ratio_to_it(run: Run) -> None:
    assert "a printed number has no repetitions" not in text_of(run())


def test_every_published_value_stands_with_its_source(run: Run) -> None:
    seen = text_of(run())
    for value in CATALOG.published("key_value").values:
        assert " ".join(value.source.split()) in seen
        assert published_text(value) in seen


def test_every_median_of_the_results_is_on_the_page(run: Run) -> None:
    seen = text_of(run())
    for result in json.loads((CAPTURED / "key_value/s1/results.json").read_text())["results"]:
        for name in ("throughput_per_s", "latency_ms_p99"):
            if name in result["measurements"]:
                assert words.number(result["measurements"][name]["median"]) in seen, (result["cell"], name)


def test_failed_cells_are_answers_with_their_reason(run: Run) -> None:
    seen = text_of(run())
    assert "0 of 1" in seen
    assert "files could not be read" in seen
    assert "not applicable: PostgreSQL has no ORCA optimizer; only Greenplum and its family have" in seen


def test_too_few_repetitions_have_no_interval(run: Run) -> None:
    assert "fewer than 3" in text_of(run())


def test_a_hostile_reason_stays_text(run: Run) -> None:
    hostile = '<script>alert("x")</script><img src="http://example.org/x.png">'

    def poison(folder: Path) -> None:
        def reason(data: dict[str, Any]) -> None:
            for result in data["results"]:
                if not result["completed"]:
                    result["reasons"] = [hostile]

        edit(folder, "results.json", reason)

    page = run(poison)
    assert "<script" not in page and "<img" not in page
    assert hostile in html.unescape(page)


def test_nothing_is_fetched_from_outside(run: Run) -> None:
    page = run()
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?:https?:)?//""", page)
    assert "@import" not in page and "<script" not in page and "<link" not in page
    assert not re.search(r"url\((?!#)", page)


def test_every_figure_says_in_words_what_it_shows(run: Run) -> None:
    figures = re.findall(r"<svg[^>]*role=\"img\"[^>]*>", run())
    assert len(figures) == 4, "one a sweep and plot that has numbers"
    assert all(re.search(r'aria-label="[^"]{20,}"', figure) for figure in figures)


def test_the_page_is_small(run: Run) -> None:
    assert len(run().encode()) < 400_000


def test_one_machine_is_said_to_be_one(run: Run) -> None:
    assert "hosts are one machine" in text_of(run())


@pytest.mark.parametrize(
    "left",
    [
        ("run.json", "plan.json", "experiment.yaml"),
        ("run.json", "plan.json"),
        ("run.json",),
        ("run.json", "plan.json", "facts.json", "trial.json"),
    ],
)
def test_a_run_that_got_only_so_far_still_has_its_page(run: Run, left: tuple[str, ...]) -> None:
    seen = text_of(run(keep_only(*left)))
    assert "key_value" in seen and "s1" in seen


def test_a_run_with_nothing_but_errors_says_them_first(run: Run) -> None:
    def fail(folder: Path) -> None:
        keep_only("run.json", "plan.json")(folder)
        note = folder / "errors" / "lab_db1" / "set_up_cluster" / "1.json"
        note.parent.mkdir(parents=True)
        note.write_text(
            json.dumps(
                {
                    "step": "set_up_cluster",
                    "platform": "lab_db1",
                    "error": "host etl (bench@10.0.0.9:22): cannot be reached",
                    "at": "2026-01-01T00:00:00",
                }
            )
        )

    seen = text_of(run(fail))
    assert "host etl (bench@10.0.0.9:22): cannot be reached" in seen
    assert seen.index("cannot be reached") < seen.index("How far to trust it")


@pytest.mark.lab
def test_it_opens_in_a_browser_without_a_request_or_a_complaint(run: Run, tmp_path: Path) -> None:
    """Real Chromium: the figures are drawn, and its log holds no error of the page."""
    page = tmp_path / "report.html"
    page.write_text(run(), encoding="utf-8")
    shot = tmp_path / "report.png"
    done = subprocess.run(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
            *("--disable-background-networking", "--disable-component-update", "--enable-logging=stderr"),
            *("--window-size=1280,4000", f"--user-data-dir={tmp_path}/profile", f"--screenshot={shot}"),
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert shot.exists() and shot.stat().st_size > 50_000, done.stderr
    assert "CONSOLE" not in done.stderr


@pytest.mark.parametrize(
    ("value", "read"), [(999.6, "1\u202f000"), (0.05512, "0.0551"), (12345.0, "12\u202f300"), (0, "0"), (None, "–")]
)
def test_numbers_read_as_people_write_them(value: float | None, read: str) -> None:
    assert words.number(value) == read


def test_placement_is_said_and_judged_among_the_facts(run: Run) -> None:
    placement = described(Catalog(project_root()).platform("density_base"))

    def on_vms(facts: dict[str, Any]) -> None:
        facts["placement"] = placement

    page = text_of(run(lambda folder: edit(folder, "platforms/lab_db1/facts.json", on_vms)))
    assert "2 machines with 2 x 24 cores, 96 threads; 4 VMs on each, of 16 vCPUs, 128 GiB." in page
    assert "no oversubscription mind base: 48 cores < 64 vCPUs <= 96 threads, some share a core 004, VM Density" in page


# Greenplum.


def test_instances_and_settings_that_differ_are_among_the_facts(run: Run) -> None:
    instance = {"content": 3, "host": "sdw4", "address": "10.0.0.4", "port": 6103, "data_directory": "/data/gpseg3"}
    state = {"role": "m", "preferred_role": "p", "mode": "n", "status": "d"}

    def greenplum(facts: dict[str, Any]) -> None:
        facts["engine"] |= {
            "product": "Greenplum Database",
            "product_version": "6.24.3",
            "segments": 4,
            "instances": [instance | state],
            "settings_that_differ": {"work_mem": {"-1": "32768", "3": "65536"}},
        }
        facts["without_hosts"] = "no coordinator or segment host is named"
        facts["notes"] = ["Virtual RDM disks", "tools.syncTime = FALSE"]

    page = text_of(run(lambda folder: edit(folder, "platforms/lab_db1/facts.json", greenplum)))
    assert "segment 3 mirror, not in its preferred role sdw4 6103 down /data/gpseg3" in page
    assert "lab_db1 (Greenplum Database 6.24.3, 4 segments)" in page
    assert "work_mem coordinator 32768, segment 3 65536" in page
    assert "No coordinator or segment host is named." in page
    assert "Set where nothing can be read back: Virtual RDM disks tools.syncTime = FALSE" in page


def test_a_trial_that_an_instance_did_not_survive_has_its_log_and_the_next_one_says_what_was_mended(run: Run) -> None:
    failed = "trials/lab_db1/concurrency.clients_4.cache_warm.r1/trial.json"
    following = "trials/lab_db1/concurrency.clients_1.cache_warm.r1/trial.json"

    def crash(record: dict[str, Any]) -> None:
        record |= {"outcome": "failed", "reason": "segment 3 on sdw4:6103 went down", "measurements": {}}
        record["evidence"]["after"] = {"log": "gpdb.csv:\nPANIC: out of shared memory"}

    def mend(record: dict[str, Any]) -> None:
        record["evidence"]["recovered"] = ["segment 3 on sdw4:6103 was down and was started"]

    def change(folder: Path) -> None:
        (folder / "results.json").unlink()  # made anew from the trials
        edit(folder, failed, crash)
        edit(folder, following, mend)

    page = text_of(run(change))
    assert "because: segment 3 on sdw4:6103 went down" in page
    assert "PANIC: out of shared memory" in page
    assert "before it, segment 3 on sdw4:6103 was down and was started" in page


def test_a_measurement_that_no_cell_has_gets_no_empty_figure(run: Run) -> None:
    """The experiment plots work on segments by statement; a PostgreSQL has no segments."""
    plots = CATALOG.experiment("key_value").sweeps["statement"].plots
    assert "segment_transactions_per_transaction" in plots
    assert "Transactions on segments" not in text_of(run())


def test_settings_that_are_all_as_declared_are_counted_and_folded_away(run: Run) -> None:
    page = run()
    assert "Settings declared and read back All 4 are as declared." in text_of(page)
    assert "<details><summary>4 settings that are as declared</summary>" in page


def test_deviations_come_first_with_where_both_values_and_the_reason(run: Run) -> None:
    def row(host: str, *values: str) -> dict[str, str]:
        return {"host": host, **dict(zip(("setting", "declared", "found", "verdict", "reason"), values, strict=True))}

    def deviate(folder: Path) -> None:
        many = [row(f"sdw{n}", "mtu", "9000", "1500", "accepted", "no <jumbo> frames") for n in range(1, 9)]
        one = row("sdw3", "vm.swappiness", "0", "", "different", "")
        edit(folder, "platforms/lab_db1/conformance.json", lambda data: data["rows"].extend([*many, one]))

    page = run(deviate)
    table = text_of(page[page.index("Settings declared and read back") :]).split("4 settings that are as declared")[0]
    assert "All 4 are as declared" not in table
    different, accepted = re.search(r"vm\.swappiness (.*?) mtu (.*)", table).groups()  # type: ignore[union-attr]
    assert different.startswith("sdw3 0 – ") and "fail" in different
    assert accepted.startswith("8 hosts: sdw1, sdw2, sdw3, sdw4, sdw5, … 9000 1500 ")
    assert "accepted no <jumbo> frames" in accepted


def test_a_run_that_was_never_set_up_has_no_table_of_settings(run: Run) -> None:
    assert "Settings declared and read back" not in run(
        lambda folder: (folder / "platforms/lab_db1/conformance.json").unlink()
    )


@pytest.mark.parametrize(
    ("started_by", "said"),
    [
        (
            {"dag_id": "smoke", "dag_run_id": "manual__1", "how": "manual"},
            "Trigger in Airflow, or the command line (manual__1)",
        ),
        ({"dag_run_id": "scheduled__1", "how": "scheduled"}, "the calendar (scheduled__1)"),
        ({"dag_run_id": "b1", "how": "backfill"}, "backfill (b1)"),
        ({"by": "a test"}, "a test"),
        ({}, "not recorded"),
    ],
)
def test_who_started_a_run_reads_well(started_by: dict[str, str], said: str) -> None:
    assert words.said_by(started_by) == said
