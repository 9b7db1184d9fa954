"""``clusterbench init``: a folder for one's own platforms, experiments and workloads, beside the installed package."""

from __future__ import annotations

import argparse
import re
from importlib.metadata import version
from pathlib import Path
from string import Template

from clusterbench import __version__
from clusterbench.base.errors import SpecError
from clusterbench.base.paths import PROJECT_FILE, built_in_root
from clusterbench.cli.common import OK

TEMPLATES = "include/init"
EMPTY = ("dags/experiments", "include/platforms", "include/sql", "expectations")
"""Folders to begin with, which a repository would not keep without a file."""
NAMES = {"airflowignore": ".airflowignore", "dockerignore": ".dockerignore", "gitignore": ".gitignore"}
"""What has another name among the templates."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    init = commands.add_parser("init", help="make a folder a project of your own; overwrites no file")
    init.add_argument("folder", type=Path, metavar="DIR", help="the folder; it may exist already")
    init.add_argument("--project", metavar="NAME", help="name of the project; the folder's name unless given")
    init.set_defaults(command=_init)


def _init(options: argparse.Namespace) -> int:
    folder: Path = options.folder.absolute()
    name = options.project or re.sub(r"\W+", "_", folder.name.lower())
    if not NAME.fullmatch(name):
        allowed = "small letters, digits and _, a letter first"
        raise SpecError(
            [f"project: {name!r} is not allowed as a name; allowed are {allowed}. Choose one with --project NAME"]
        )
    if (folder / PROJECT_FILE).exists():
        raise SpecError([f"{folder / PROJECT_FILE}: exists already, so this folder is a project; nothing was changed"])
    made, kept = _write(folder, {"project": name, "version": __version__, "airflow": version("apache-airflow")})
    for path in made:
        print(f"made  {path}")
    for path in kept:
        print(f"kept  {path}, because it exists; the template is {built_in_root() / TEMPLATES / path}")
    print(f"{folder} is project {name!r}; the next steps are in its README.md")
    return OK


def _write(folder: Path, values: dict[str, str]) -> tuple[list[Path], list[Path]]:
    """Files that were made, and those that were there; by their paths in the project."""
    templates = built_in_root() / TEMPLATES
    texts = {
        NAMES.get(str(file.relative_to(templates)), str(file.relative_to(templates))): file
        for file in sorted(templates.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }
    made, kept = [], []
    for name, file in texts.items():
        path = folder / name
        if path.exists():
            kept.append(file.relative_to(templates))
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(file.read_text(encoding="utf-8")).substitute(values), encoding="utf-8")
        made.append(Path(name))
    for name in EMPTY:
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / ".gitkeep").touch()
    return made, kept
