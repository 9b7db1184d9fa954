"""A project with a workload folder of one's own beside all that is built in."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from clusterbench.base.paths import project_root


def project_with(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, files: Mapping[str, str], experiment: str = ""
) -> Path:
    """``files``: of ``include/sql/<name>``. Returns the project's root, which everything looks into from now on."""
    ours, root = project_root(), folder / "project"
    for path in ("expectations", "plugins"):
        _link(ours / path, root / path)
    for path in ("dags/experiments", "include", "include/sql"):
        (root / path).mkdir(parents=True, exist_ok=True)
        for each in (ours / path).iterdir():
            if each.name not in {"sql", "experiments"}:
                _link(each, root / path / each.name)
    add_workload(root, name, files)
    if experiment:
        (root / "dags/experiments" / f"{name}.yaml").write_text(textwrap.dedent(experiment))
    monkeypatch.setenv("CLUSTERBENCH_ROOT", str(root))
    return root


def add_workload(root: Path, name: str, files: Mapping[str, str]) -> Path:
    path = root / "include/sql" / name
    path.mkdir()
    for file, text in files.items():
        (path / file).write_text(textwrap.dedent(text))
    return path / "workload.yaml"


def _link(target: Path, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.symlink_to(target)
