"""Every file of this project is in order: what `clusterbench lint` says, and the DAGs that Airflow would show."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from clusterbench.spec.catalog import project_catalog

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def of_this_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERBENCH_ROOT", str(ROOT))


def test_every_file_is_in_order() -> None:
    assert project_catalog().lint() == []


@pytest.mark.parametrize("file", sorted((ROOT / "dags").glob("*.py")), ids=lambda file: file.name)
def test_dag_file_can_be_read(file: Path) -> None:
    runpy.run_path(str(file))
