"""A project of one's own, beside clusterbench: ``clusterbench.yaml`` in its folder. ``clusterbench init`` makes one."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from clusterbench.base.paths import PROJECT_FILE, built_in_root, project_root
from clusterbench.spec.loading import Strict, load

OWN = ("dags/experiments/*.yaml", "include/**/*", "expectations/**/*.json")
"""What may stand before a built-in file of the same path."""
Pattern = Annotated[str, Field(min_length=1)]
PATTERNS = "a list of names or patterns such as `mine_*`; `!` before one excludes"
OfProject = Literal["clusterbench_archive", "clusterbench_history", "clusterbench_smtp", "clusterbench_webhook"]
Prefix = Annotated[
    str, Field(pattern=r"^([a-z][a-z0-9_]{0,19}_)?$", description="a name of at most 21 characters that ends with `_`")
]


class Project(Strict):
    """``clusterbench.yaml``, which makes its folder a project."""

    project: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="a name")]
    """The project's name."""
    dag_prefix: Prefix = ""
    """Stands before the name of each of its DAGs and pools, such as `sales_`, if several projects share one Airflow."""
    connections: dict[OfProject, Annotated[str, Field(min_length=1, description="the name of a connection")]] = {}
    """What Airflow calls this project's connections, such as `{clusterbench_archive: sales_archive}`. Without it, they
    keep their names."""
    platforms: Annotated[list[Pattern], Field(description=PATTERNS)] = []
    """The platforms that are offered. Without it, these are the ones in the project's own `include/platforms`."""
    experiments: Annotated[list[Pattern], Field(description=PATTERNS)] = []
    """The experiments that are offered. Without it, all are. One without an offered platform of its engines is left
    out."""
    checked_with: str = ""
    """The version of clusterbench with which everything was last in order. `clusterbench doctor --project` compares it
    with the installed one."""


def project_of(root: Path) -> Project | None:
    """None where the folder is no project of one's own. Raises SpecError with what is wrong in its file."""
    file = root / PROJECT_FILE
    return _read(file, file.stat().st_mtime_ns) if file.is_file() else None


@lru_cache(maxsize=8)
def _read(file: Path, _changed_ns: int) -> Project:
    return load(file, Project)


def here() -> Project | None:
    """The project in which this process, or this request, is."""
    return project_of(project_root())


def dag_id(name: str) -> str:
    """Of an experiment, of ``weekly``, ``baselines`` or ``remarks``: as Airflow knows it."""
    project = here()
    return f"{project.dag_prefix}{name}" if project else name


def name_of_dag(of_airflow: str) -> str:
    """The other way round. A DAG of another project keeps what it is called."""
    project = here()
    return of_airflow.removeprefix(project.dag_prefix) if project else of_airflow


def connection_id(name: str) -> str:
    """Of ``clusterbench_archive`` and the like, as Airflow knows it; any other is what it is called."""
    project = here()
    known: dict[str, str] = dict(project.connections) if project else {}  # type: ignore[arg-type]
    return known.get(name, name)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of them fits, or all that there are exclude others."""
    listed = [pattern.strip() for pattern in patterns if pattern.strip()]
    wanted = [pattern for pattern in listed if not pattern.startswith("!")]
    excluded = (fnmatchcase(name, pattern[1:]) for pattern in listed if pattern.startswith("!"))
    return (not wanted or any(fnmatchcase(name, pattern) for pattern in wanted)) and not any(excluded)


def hiding() -> list[str]:
    """The project's files that stand before a built-in one of the same path."""
    own, built_in = project_root(), built_in_root()
    if own == built_in or project_of(own) is None:
        return []
    found = (file.relative_to(own) for pattern in OWN for file in own.glob(pattern) if file.is_file())
    return sorted(str(path) for path in found if (built_in / path).is_file())
