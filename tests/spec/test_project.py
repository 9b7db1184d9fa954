"""A project of one's own: what it offers, what it hides, and what is wrong in its file."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.base.paths import PROJECT_FILE, ROOT, built_in_root
from clusterbench.spec.catalog import OFFERED, is_offered, project_catalog
from clusterbench.spec.project import hiding, matches, project_of

LAB = built_in_root() / "include/platforms/lab_db1.yaml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With one platform, ``ours``."""
    (tmp_path / "include/platforms").mkdir(parents=True)
    ours = LAB.read_text().replace("platform: lab_db1", "platform: ours")
    (tmp_path / "include/platforms/ours.yaml").write_text(ours)
    _write(tmp_path)
    monkeypatch.setenv(ROOT, str(tmp_path))
    monkeypatch.delenv(OFFERED, raising=False)
    return tmp_path


def _write(root: Path, more: str = "") -> None:
    (root / PROJECT_FILE).write_text("project: ours\n" + textwrap.dedent(more))


def _experiments() -> dict[str, list[str]]:
    return {one.experiment: [p.platform for p in platforms] for one, platforms in project_catalog().experiments()}


def test_its_own_platforms_are_offered_for_every_experiment_of_their_engine(project: Path) -> None:
    assert is_offered("ours") and not is_offered("lab_db1")
    assert project_catalog().experiment("smoke").platforms == ["ours"]
    found = _experiments()
    assert {"smoke", "key_value", "order_entry"} <= set(found)
    assert "terasort" not in found, "no platform of it has Hadoop"
    assert project_catalog().lint() == []


def test_its_file_may_name_platforms_and_experiments(project: Path) -> None:
    _write(project, "platforms: [lab_*]\nexperiments: ['s*', '!smoke', key_value]\n")
    assert is_offered("lab_db1") and not is_offered("ours")
    assert set(_experiments()) == {"key_value"}


def test_the_environment_outdoes_its_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OFFERED, "lab_db1")
    assert is_offered("lab_db1") and not is_offered("ours")


def test_an_experiment_of_its_own_stands_before_the_built_in_one_and_is_told(project: Path) -> None:
    own = project / "dags/experiments/smoke.yaml"
    own.parent.mkdir(parents=True)
    built_in = (built_in_root() / "dags/experiments/smoke.yaml").read_text()
    own.write_text(built_in.replace("title: Smoke test of the pipeline", "title: Our smoke"))
    assert project_catalog().experiment("smoke").title == "Our smoke"
    assert hiding() == ["dags/experiments/smoke.yaml"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("project: Ours\n", "project: "),
        ("project: ours\nplatform: [a]\n", "platform: unknown key; did you mean 'platforms'"),
        ("", "must be a mapping of keys to values"),
    ],
)
def test_what_is_wrong_in_its_file_is_told_with_its_place(project: Path, text: str, said: str) -> None:
    (project / PROJECT_FILE).write_text(text)
    with pytest.raises(SpecError) as error:
        project_of(project)
    assert str(error.value).startswith(f"{project / PROJECT_FILE}:") and said in str(error.value)
    assert project_catalog().lint() == error.value.problems


def test_patterns() -> None:
    assert matches("a", []) and matches("ab", ["a*"]) and not matches("ab", ["a*", "!ab"])
    assert matches("c", ["!ab"]) and not matches("c", ["a*", " "])
