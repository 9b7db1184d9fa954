"""A project of one's own against the version of clusterbench that is installed: what an upgrade breaks, or may."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

from clusterbench import __version__
from clusterbench.base.connections import HISTORY, Connections, why_no_history
from clusterbench.base.errors import ClusterbenchError, HistoryError
from clusterbench.base.paths import PROJECT_FILE, built_in_root
from clusterbench.run.doctor.finding import Finding
from clusterbench.spec.catalog import project_catalog
from clusterbench.spec.project import Project, hiding

EXTRAS: Mapping[str, tuple[Sequence[str], str]] = {
    "worker": (("asyncssh", "boto3", "great_expectations", "matplotlib", "pandas", "scipy"), "cannot run tasks"),
    "ui": (("alembic", "boto3", "scipy"), "cannot show results"),
    "generators": (("duckdb",), "cannot make data with DuckDB, nor check answers with it"),
    "regressions": (("otava",), "cannot compute weekly verdicts, nor show results over time"),
}
"""Extra -> modules of it, and what is not done where they are not there."""
WAYS = {"regressions": "pip install --no-deps apache-otava"}
"""Where an extra is not the way: it wants a release of numpy of its own, and needs none."""
NEEDED_DAGS = ("benchmarks", "weekly", "baselines", "remarks", "problems")


def examine(root: Path, project: Project, connections: Connections) -> Iterator[Finding]:
    yield from _versions(root, project)
    yield from _files(root)
    yield from _image(root)
    yield from _packages()
    yield from _history(connections)


def _versions(root: Path, project: Project) -> Iterator[Finding]:
    yield Finding("version", "Airflow", version("apache-airflow"))
    if project.checked_with != __version__:
        yield Finding(
            "version",
            PROJECT_FILE,
            f"was last checked with clusterbench {project.checked_with or '(no version)'}; {__version__} is installed",
            "look",
            f"read CHANGELOG.md from that version on; when all is in order, write checked_with: {__version__}",
        )
    else:
        yield Finding("version", PROJECT_FILE, f"clusterbench {__version__}, which is installed")
    file = root / "requirements.txt"
    pinned = re.search(r"^clusterbench\S*==(\S+)", file.read_text(), re.MULTILINE) if file.is_file() else None
    if pinned and pinned[1] != __version__:
        found = f"asks for clusterbench {pinned[1]}; {__version__} is installed"
        yield Finding("version", file.name, found, "look", "install that version, or change the file")


def _files(root: Path) -> Iterator[Finding]:
    catalog = project_catalog()
    problems = catalog.lint()
    for problem in problems:
        yield Finding("declarations", "project", problem, "bad", "correct what the message names")
    if not problems:
        yield Finding("declarations", "project", "every file can be read")
    for warning in catalog.warnings():
        yield Finding("declarations", "project", warning, "look", "as it says; a later release no longer reads it")
    for path in hiding():
        remedy = f"after an upgrade, compare it with {built_in_root() / path}"
        yield Finding("declarations", path, "replaces the built-in file", "look", remedy)
    text = "".join(file.read_text(encoding="utf-8") for file in (root / "dags").glob("*.py"))
    if lacking := [name for name in NEEDED_DAGS if f'"{name}"' not in text and not (root / f"dags/{name}.py").exists()]:
        found = f"none of its files calls dags_of with {', '.join(lacking)}"
        yield Finding("DAGs", "dags", found, "look", f"Airflow does not show these; see {built_in_root() / 'dags'}")


def _image(root: Path) -> Iterator[Finding]:
    """Projects that were made by an older version have no ``.dockerignore``."""
    if (root / "Dockerfile").is_file() and not (root / ".dockerignore").is_file():
        yield Finding(
            "image",
            "Dockerfile",
            "there is no .dockerignore: connections.json and keys in this folder get into the image",
            "look",
            f"copy {built_in_root() / 'include/init/dockerignore'} to .dockerignore and build again; if an image was "
            "pushed, change its passwords and keys",
        )


def _packages() -> Iterator[Finding]:
    """Of this machine. Not every part of Airflow needs every extra."""
    for extra, (modules, without) in EXTRAS.items():
        if lacking := [module for module in modules if find_spec(module) is None]:
            found = f"lacks {', '.join(lacking)}: this machine {without}"
            yield Finding(
                "packages", f"[{extra}]", found, "look", WAYS.get(extra, f"pip install 'clusterbench[{extra}]'")
            )
        else:
            yield Finding("packages", f"[{extra}]", "is installed")
    for name, wanted in _exactly_wanted().items():
        try:
            there = version(name)
        except PackageNotFoundError:
            continue
        if there != wanted:
            found = f"{there} is installed, but this version needs {wanted}"
            yield Finding("packages", name, found, "bad", f"pip install {name}=={wanted}")


def _exactly_wanted() -> dict[str, str]:
    """Packages of which one release will do; none where clusterbench was not installed as a package."""
    try:
        found = (re.match(r"([\w.-]+)==([\w.]+)", one) for one in requires("clusterbench") or ())
    except PackageNotFoundError:
        return {}
    return {one[1]: one[2] for one in found if one}


def _history(connections: Connections) -> Iterator[Finding]:
    if why := why_no_history(connections):
        yield Finding("history", "database", f"there is none: {why}", "look", "add connection 'clusterbench_history'")
        return
    from clusterbench.history import database  # noqa: PLC0415

    connection = connections(HISTORY)
    try:
        with database.opened(connection) as db:
            there = database.version(db)
    except (HistoryError, ClusterbenchError) as error:
        yield Finding("history", "database", str(error), "bad", "correct what the message names")
        return
    if there is not None and there > database.NEWEST:
        remedy = f"with the newer version installed, run: clusterbench history migrate --to {database.NEWEST}"
        yield Finding(
            "history", "database", f"tables of version {there}, which is newer than this version's", "bad", remedy
        )
    elif there != database.NEWEST:
        found = f"tables of version {there or 'none'}; this version upgrades them to {database.NEWEST} at the next load"
        yield Finding("history", "database", found, "look", "to go back later: clusterbench history migrate --to")
    else:
        yield Finding("history", "database", f"tables of version {there}, the newest")
