"""Whose file is read: the own project's, or what is built in."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterbench.base import paths
from clusterbench.base.scripts import script


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of one, in which the caller is."""
    (tmp_path / paths.PROJECT_FILE).write_text("project: ours\n")
    monkeypatch.delenv(paths.ROOT, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_project_is_the_next_folder_upwards_that_is_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = project / "include" / "sql"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert paths.project_root() == project
    monkeypatch.setenv(paths.ROOT, str(project / "elsewhere"))
    assert paths.project_root() == project / "elsewhere"


def test_without_one_there_is_what_is_built_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(paths.ROOT, raising=False)
    assert paths.project_root() == paths.built_in_root()
    assert (paths.built_in_root() / "dags" / "benchmarks.py").is_file()


def test_a_file_of_the_project_stands_before_the_built_in_one(project: Path) -> None:
    name = "include/sql/tables/comments.sql"
    assert paths.own_or_built_in(name) == paths.built_in_root() / name
    (project / name).parent.mkdir(parents=True)
    (project / name).write_text("SELECT 1")
    assert paths.own_or_built_in(name) == project / name


def test_files_of_a_folder_are_the_built_in_ones_but_for_those_that_are_hidden(project: Path) -> None:
    folder = project / "include" / "platforms"
    folder.mkdir(parents=True)
    for name in ("mine", "lab_db1"):
        (folder / f"{name}.yaml").write_text("")
    found = {path.stem: path.parent for path in paths.all_files("include/platforms", "*.yaml")}
    assert found["mine"] == found["lab_db1"] == folder
    assert found["lab_db2"] == paths.built_in_root() / "include" / "platforms"


def test_a_project_without_scripts_has_the_built_in_ones(project: Path) -> None:
    assert "telemetry" in script("hosts/telemetry_start", directory="x", seconds=1)
