"""Two archived runs side by side: from captured real results, and the facts of captured hosts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from tests.test_facts_compared import ENGINE, GUEST, facts_of
from tests.test_report import CAPTURED, CATALOG, Folder, edit, text_of

from clusterbench import cli, cli_compare
from clusterbench.archive import RunArchive, Store
from clusterbench.compare import Comparison, compare
from clusterbench.compare_read import read_run
from clusterbench.conformance import AS_DECLARED, Row
from clusterbench.errors import ArchiveError
from clusterbench.report import render_report
from clusterbench.statistics import ratio

Change = Callable[[Path], object]


def put_facts(
    folder: Path, platform: str, host: str = "db", declared: dict[str, str] | None = None, **changed: Any
) -> None:
    below = folder / "platforms" / platform
    below.mkdir(parents=True, exist_ok=True)
    hosts = {"client": facts_of(1, GUEST), host: facts_of(2, GUEST, **changed)}
    (below / "facts.json").write_text(json.dumps({"hosts": hosts, "engine": ENGINE}))
    settings = {"work_mem": "8MB", **(declared or {})}
    rows = [Row(each, what, value, value, AS_DECLARED) for each in hosts for what, value in settings.items()]
    (below / "conformance.json").write_text(json.dumps({"rows": [row.as_json() for row in rows]}))
    (below / "platform.yaml").write_text(
        f"{{platform: {platform}, title: T, engine: postgres, cluster: c, hosts: "
        f"{{client: {{ssh: c, roles: [client]}}, {host}: {{ssh: d, roles: [coordinator]}}}}}}"
    )


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs of the same results and facts, to be changed."""
    for run in ("l1", "l2"):
        shutil.copytree(CAPTURED / "retail" / "l1", tmp_path / "retail" / run)
        for platform in ("lab_db1", "lab_db2"):
            put_facts(tmp_path / "retail" / run, platform)
    return tmp_path / "retail" / "l1", tmp_path / "retail" / "l2"


def archive_in(folder: Path) -> RunArchive:
    return RunArchive(cast(Store, Folder(folder.parents[1])), "retail", folder.name)


def compared(runs: tuple[Path, Path], *asked: str) -> Comparison:
    a, b = (read_run(archive_in(folder)) for folder in runs)
    return compare(a, b, asked)


def printed(runs: tuple[Path, Path], output: pytest.CaptureFixture[str], monkeypatch: Any, *arguments: str) -> str:
    """What ``clusterbench compare`` prints."""
    monkeypatch.setattr(cli_compare, "archive_of", lambda run: archive_in(runs[0].parent / run))
    assert cli.main(["compare", "l1", "l2", *arguments]) == 0
    return output.readouterr().out


def results(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the results of ``lab_db1``."""

    def each(data: dict[str, Any]) -> None:
        for result in data["results"]:
            if result["platform"] == "lab_db1":
                change(result)

    edit(folder, "results.json", each)


def test_same_facts_are_said_to_be_the_same_with_their_number(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = printed(runs, capsys, monkeypatch, "--platform", "lab_db1")
    (facts,) = (pair.facts for pair in compared(runs, "lab_db1").pairs)
    assert f"The facts are the same: {facts} facts of 2 hosts." in said
    assert "hard to compare" not in said
    assert "lab_db2" not in said


def test_facts_that_differ_are_said_before_any_result(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_facts(runs[1], "lab_db1", "other_name", {"work_mem": "4MB"}, cpu_model="Other", version={"bash": "4.4"})
    said = printed(runs, capsys, monkeypatch, "--platform", "lab_db1")
    places = [said.index(word) for word in ("hard to compare", "cpu_model", "version.bash", "work_mem", "B / A")]
    assert places == sorted(places)
    assert "The facts are the same" not in said


def test_ratio_is_that_of_the_values_with_its_interval(runs: tuple[Path, Path]) -> None:
    def slower(result: dict[str, Any]) -> None:
        for summary in result["measurements"].values():
            summary["values"] = [2 * value for value in summary["values"]]
            summary["median"] *= 2

    results(runs[1], slower)
    cells = [cell for pair in compared(runs).pairs if pair.a == "lab_db1" for cell in pair.cells]
    assert cells
    for cell in cells:
        assert cell.a and cell.b and cell.ratio
        assert cell.ratio == ratio(cell.b.values, cell.a.values)
        assert cell.ratio[0] == pytest.approx(2) and cell.ratio[1] and cell.ratio[1][0] <= 2 <= cell.ratio[1][1]


def test_cell_that_only_one_has_or_completed_is_shown_as_such(runs: tuple[Path, Path]) -> None:
    def fail(result: dict[str, Any]) -> None:
        if result["sweep"] == "data_load":
            result |= {"completed": 0, "measurements": {}, "outcomes": {"failed": 3}, "reasons": ["disk full"]}

    results(runs[1], fail)
    edit(runs[0], "results.json", lambda data: data["results"].remove(_last_of_lab_db1(data)))
    (pair,) = compared(runs, "lab_db1").pairs
    (load,) = (cell for cell in pair.cells if cell.measurement == "response_time_s" and "data load" in cell.label)
    assert load.a and load.b is None and load.ratio is None
    assert load.said_b == "0 of 3 completed: disk full"
    assert {cell.said_a for cell in pair.cells if cell.a is None} == {"not run here"}


def _last_of_lab_db1(data: dict[str, Any]) -> Any:
    return [result for result in data["results"] if result["platform"] == "lab_db1"][-1]


def test_cells_of_another_size_are_not_the_same_though_their_name_is(runs: tuple[Path, Path]) -> None:
    results(runs[1], lambda result: result["levels"].update(rows=5))
    (pair,) = compared(runs, "lab_db1").pairs
    assert all(cell.ratio is None for cell in pair.cells)
    assert any("rows 5" in cell.label for cell in pair.cells)


def test_other_choices_and_platforms_of_one_run_only_are_told(runs: tuple[Path, Path]) -> None:
    edit(runs[1], "run.json", lambda data: data["choices"].update(seed=1))
    edit(runs[1], "results.json", lambda data: data.update(results=[_last_of_lab_db1(data)]))
    found = compared(runs)
    assert [(one.what, one.b, one.decides) for one in found.run_differences] == [("seed", "1", True)]
    assert [(pair.a, pair.b) for pair in found.pairs] == [("lab_db1", "lab_db1")]
    assert found.alone == (["lab_db2"], [])


def test_platforms_of_other_names_can_be_asked_for(runs: tuple[Path, Path]) -> None:
    assert [(pair.a, pair.b) for pair in compared(runs, "lab_db1=lab_db2").pairs] == [("lab_db1", "lab_db2")]
    with pytest.raises(ArchiveError, match=r"run retail/l2 has no platform 'lab_db3'; did you mean 'lab_db2'\?"):
        compared(runs, "lab_db1=lab_db3")


def test_run_without_facts_is_said_to_have_none(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(runs[1] / "platforms")
    said = printed(runs, capsys, monkeypatch)
    assert "No facts of hosts were read in B: nobody knows whether the two can be compared." in said
    assert "The facts are the same" not in said


def test_json_has_everything(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_facts(runs[1], "lab_db1", cpus=1)
    said = json.loads(printed(runs, capsys, monkeypatch, "--json"))
    (first, _) = said["platforms"]
    assert [one["what"] for one in first["differences"]] == ["cpus"]
    assert first["cells"][0]["ratio"][0] == 1


# In the report of a run with several platforms.


def test_report_says_what_the_platforms_are_made_of_before_their_ratios(runs: tuple[Path, Path]) -> None:
    put_facts(runs[0], "lab_db2", cpu_model="Other", cpus=4)
    page = text_of(render_report(archive_in(runs[0]), CATALOG))
    assert "lab_db2 beside lab_db1: 2 facts differ; a ratio holds what this does, too: cpu model, cpus." in page
    assert page.index("2 facts differ") < page.index("ratio to lab_db1")


def test_report_says_that_platforms_are_alike_or_that_nobody_knows(runs: tuple[Path, Path]) -> None:
    assert "facts are the same" in text_of(render_report(archive_in(runs[0]), CATALOG))
    shutil.rmtree(runs[0] / "platforms" / "lab_db2")
    assert "no facts were read of the hosts of lab_db2" in text_of(render_report(archive_in(runs[0]), CATALOG))
