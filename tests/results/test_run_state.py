"""One word for a run, wherever it is named."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from clusterbench.airflow.ui import template
from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.paths import project_root
from clusterbench.history.model import RunRow
from clusterbench.report.run.trust import badge
from clusterbench.report.week.week import ExperimentRun
from clusterbench.results.gather import gather
from clusterbench.results.run_list import read_line
from clusterbench.results.run_state import RunState, archived_state, run_state
from clusterbench.spec.catalog import Catalog
from tests.report.test_report import Folder

CATALOG = Catalog(project_root())
CASES = [(True, [True], False), (True, [True, False], False), (True, [True], True), (False, [False], False)]
WORDS = ["valid", "valid with warnings", "valid with warnings", "not valid"]


def archive_of(folder: Path, *, valid: bool, passed: list[bool], has_errors: bool, sealed: bool = True) -> RunArchive:
    verdict = {"suite": "s", "check": 1, "says": "so", "critical": not valid, "found": ""}
    objects: dict[str, Any] = {
        "run.json": {"choices": {}},
        "verdicts.json": {"valid": valid, "verdicts": [{**verdict, "passed": each} for each in passed]},
    }
    if has_errors:
        objects["errors/db1/flush/1.json"] = {"platform": "db1", "step": "flush", "error": "no", "at": "2026"}
    if sealed:
        objects["manifest.json"] = {"valid": valid, "objects": {key: {} for key in objects}}
    for name, content in objects.items():
        path = folder / "smoke" / "r1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return RunArchive(cast(Store, Folder(folder)), "smoke", "r1")


def row(*, is_valid: bool, has_warnings: bool) -> RunRow:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    return RunRow(
        "smoke", "r1", "S", "smoke", is_valid, at, None, ("db1",), 1, 1, "", {}, {}, "", has_warnings=has_warnings
    )


@pytest.mark.parametrize(("case", "word"), list(zip(CASES, WORDS, strict=True)))
def test_list_report_and_archive_call_a_run_the_same(
    tmp_path: Path, case: tuple[bool, list[bool], bool], word: str
) -> None:
    archive = archive_of(tmp_path, valid=case[0], passed=case[1], has_errors=case[2])
    line = read_line(archive)
    assert line is not None and line.validity == word
    assert archived_state(archive).value == word
    assert badge(gather(archive, CATALOG)).words == word


def test_what_was_never_sealed_did_not_complete_and_a_list_says_perhaps_not_yet(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, valid=True, passed=[True], has_errors=False, sealed=False)
    line = read_line(archive)
    assert archived_state(archive) is RunState.INCOMPLETE
    assert line is not None and line.validity == "did not complete (yet)"
    assert run_state(None, has_warnings=True) is RunState.INCOMPLETE


@pytest.mark.parametrize(
    ("is_valid", "has_warnings", "word"),
    [(True, False, "valid"), (True, True, "valid with warnings"), (False, True, "not valid")],
)
def test_ui_and_week_use_the_same_words(is_valid: bool, has_warnings: bool, word: str) -> None:
    assert row(is_valid=is_valid, has_warnings=has_warnings).state.value == word
    week = ExperimentRun("smoke", "S", "", "r1", "", is_valid=is_valid, has_warnings=has_warnings)
    assert week.state.value == word


def test_badge_of_the_ui_is_the_state_with_its_colour() -> None:
    macro = template.environment().from_string('{% from "macros.html.j2" import badge with context %}{{ badge(run) }}')
    warned = macro.render(run=row(is_valid=True, has_warnings=True), airflow="", root="", to=None)
    assert warned.strip() == '<span class="badge warning">valid with warnings</span>'


def test_concepts_have_the_words() -> None:
    page = (project_root() / "docs" / "concepts.md").read_text()
    assert [state for state in RunState if f"| {state.value} |" not in page] == []
