"""The direction of imports, as pyproject.toml declares it, held by import-linter."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from clusterbench.base.paths import project_root

ROOT = project_root()
LINTER = Path(sys.executable).with_name("lint-imports")


def lint(plugins: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINTER), "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    return subprocess.run(command, check=False, cwd=plugins, capture_output=True, text=True)


def test_every_room_knows_only_those_below_it() -> None:
    answer = lint(ROOT / "plugins")
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("base/words.py", "from clusterbench.report import template", "A room of the package knows only those below"),
        ("hosts/lease.py", "from airflow.sdk import DAG", "Only the room airflow imports Airflow"),
        ("cli/cluster.py", "from clusterbench_lab import Lab", "No production worker needs the lab"),
        (
            "run/steps.py",
            "from clusterbench.engines.greenplum import ENGINE",
            "No workload, step or page knows an engine",
        ),
        ("cli/cluster.py", "from clusterbench_docs import blocks", "Nothing needs what makes the pages"),
        ("trial/testbed.py", "from clusterbench.trial import protocol", "No circles within a room"),
        ("a_new_room/__init__.py", "", "A room of the package knows only those below"),
    ],
)
def test_a_wrong_import_would_be_seen(tmp_path: Path, module: str, line: str, contract: str) -> None:
    for package in ("clusterbench", "clusterbench_lab", "clusterbench_docs"):
        for source in (ROOT / "plugins" / package).rglob("*.py"):
            copy = tmp_path / source.relative_to(ROOT / "plugins")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(source.read_text())
    spoiled = tmp_path / "clusterbench" / module
    spoiled.parent.mkdir(exist_ok=True)
    spoiled.write_text((spoiled.read_text() if spoiled.exists() else "") + f"\n{line}\n")
    answer = lint(tmp_path)
    assert answer.returncode == 1
    assert [said for said in answer.stdout.splitlines() if "BROKEN" in said and said.startswith(contract)], (
        answer.stdout
    )


def test_the_package_has_few_rooms() -> None:
    (rooms, *_) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    entries = [path.name for path in (ROOT / "plugins" / "clusterbench").iterdir() if path.name != "__pycache__"]
    assert sorted(entries) == sorted([*rooms["layers"], "__init__.py"])
    assert len(entries) <= 15
