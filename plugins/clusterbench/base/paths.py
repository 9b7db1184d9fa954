"""Where files are: those of one's own project stand before those that come with clusterbench."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

ROOT = "CLUSTERBENCH_ROOT"
PROJECT_FILE = "clusterbench.yaml"
"""Whose folder is a project of one's own: ``clusterbench init`` makes one."""
BUILT_IN = Path(__file__).resolve().parents[1] / "built_in"
"""In an installed package; in a clone its files are the clone's own."""


def lab_dir() -> Path:
    """Where the lab on this machine is kept."""
    return Path(os.environ.get("CLUSTERBENCH_LAB_DIR") or project_root() / ".lab")


_CHOSEN: ContextVar[Path | None] = ContextVar("project", default=None)


@contextmanager
def within(root: Path) -> Iterator[None]:
    """That project, for a request: an API server shows those of all who share an Airflow."""
    token = _CHOSEN.set(root)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def project_root() -> Path:
    """The folder of the own project: CLUSTERBENCH_ROOT, or the next one upwards that has a ``clusterbench.yaml``.

    Where there is none, that of what is built in.
    """
    if chosen := _CHOSEN.get():
        return chosen
    if configured := os.environ.get(ROOT):
        return Path(configured)
    return project_around(Path.cwd()) or built_in_root()


def project_around(place: Path) -> Path | None:
    """The own project that a folder is or lies in, or a file; the next one upwards."""
    return next((folder for folder in (place, *place.parents) if (folder / PROJECT_FILE).is_file()), None)


@cache
def built_in_root() -> Path:
    """The folder with ``dags``, ``include`` and ``expectations`` as they come with clusterbench."""
    return BUILT_IN if BUILT_IN.is_dir() else Path(__file__).resolve().parents[3]


def own_or_built_in(path: str) -> Path:
    """A file or folder, such as ``include/sql/tables/comments.sql``: the project's own, or else what is built in."""
    own = project_root() / path
    return own if own.exists() else built_in_root() / path


def all_files(folder: str, pattern: str) -> list[Path]:
    """The files of a folder, by their paths below it: a file of one's own hides what is built in by the same."""
    by_path: dict[Path, Path] = {}
    for root in dict.fromkeys((built_in_root(), project_root())):
        by_path |= {file.relative_to(root / folder): file for file in (root / folder).glob(pattern)}
    return [by_path[path] for path in sorted(by_path)]
