"""``clusterbench results``: what was found comes before the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from clusterbench.base.archive import RunArchive, Store
from clusterbench.cli import results
from clusterbench.cli.main import main
from clusterbench.report.run.findings import Findings
from clusterbench.results.durability import Durability
from clusterbench.results.statistics import Result
from tests import order_entry_run
from tests.report.test_report import Folder


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunArchive:
    folder = order_entry_run.write(tmp_path)
    made = RunArchive(cast(Store, Folder(folder.parents[1])), "order_entry", "o1")
    monkeypatch.setattr(results, "archive_of", lambda name: made)
    return made


def test_what_was_found_stands_before_the_table(archive: RunArchive, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", "order_entry/o1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("With 60 % of the CPUs busy, transactions on lab_vm64")
    assert said.index("Not known: All hosts are one machine.") < said.index("Results: median, 95 % interval, best")


def test_json_has_it_too(archive: RunArchive, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", "order_entry/o1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"findings", "results", "durability"}
    assert found["findings"]["found"][0]["sweep"] == "utilisation"


def test_numbers_are_those_of_the_report(archive: RunArchive, capsys: pytest.CaptureFixture[str]) -> None:
    first = next(one for one in archive.need_json("results.json")["results"] if one["measurements"])
    name = next(one for one in results.SHOWN if one in first["measurements"])
    first["measurements"][name] |= {"median": 15_020.0, "best": 0.12345}
    results._print_table([Result.from_json(first)], Durability())
    printed = capsys.readouterr().out
    assert "15\u202f000" in printed and "0.123" in printed and "e+0" not in printed


def test_a_reason_that_was_cut_says_where_all_of_it_stands(
    archive: RunArchive, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = Findings("", (), ("1 cell has no number (a: it bro…).",), "")
    monkeypatch.setattr(results, "findings_in", lambda *_: cut)
    results._print_findings(archive)
    assert capsys.readouterr().out.splitlines()[-1] == (
        "Whole reasons: in its report, or clusterbench results order_entry/o1 --json"
    )
