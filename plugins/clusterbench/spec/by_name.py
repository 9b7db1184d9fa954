"""Workloads and engines by name: each is found by its file, so that adding one touches no list.

What a workload is, and what an engine must be able to do, is further down the house (``workloads``, ``engines``). Here
is only what a YAML file may say of them: that they exist, and what a workload declares.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast, runtime_checkable

from clusterbench.base.engine_declaration import EngineDeclaration
from clusterbench.base.errors import SpecError, suggest
from clusterbench.base.factors import Factor
from clusterbench.base.measurements import MeasurementKind
from clusterbench.base.paths import all_files, own_or_built_in

PACKAGE = Path(__file__).parents[1]
OF_FOLDERS = "clusterbench.workloads.declared.by_folder"
FOLDER = re.compile(r"[A-Za-z0-9_-]+")
"""What may be the name of a folder, and leads nowhere else."""
DEFINES_WORKLOAD = re.compile(r"^WORKLOAD\b", re.MULTILINE)


class Declared(Protocol):
    """What a workload declares: what can be varied, and what it measures."""

    factors: Mapping[str, Factor]
    measurements: Mapping[str, MeasurementKind]


@runtime_checkable
class Refusing(Protocol):
    """A workload that says of factors of others why it does not have them."""

    refused: Mapping[str, str]


def declared_by(workload: str) -> Declared:
    """The declarations of the workload of that name. Raises SpecError that lists the workloads there are."""
    return cast(Declared, workload_object(workload))


def workload_object(name: str) -> object:
    """The workload: of a module that defines ``WORKLOAD``, or of a folder of SQL that says what it is.

    Raises SpecError that lists the workloads there are, or with what is wrong in the folder.
    """
    modules = _workload_modules()
    if name in modules:
        return importlib.import_module(modules[name]).WORKLOAD
    # One look for the one folder: this is asked for every trial of a plan, and to list all folders takes milliseconds.
    if FOLDER.fullmatch(name) and (file := own_or_built_in(f"include/sql/{name}/workload.yaml")).is_file():
        return importlib.import_module(OF_FOLDERS).of(file)
    raise SpecError([f"unknown workload {name!r}{suggest(name, [*modules, *workload_folders()])}"])


def workload_names() -> list[str]:
    """All of them, in order."""
    return sorted({*_workload_modules(), *workload_folders()})


def workload_folders() -> dict[str, Path]:
    """Name -> ``workload.yaml``, of the folders below ``include/sql`` that have one."""
    return {file.parent.name: file for file in all_files("include/sql", "*/workload.yaml")}


def workload_state() -> tuple[tuple[str, int], ...]:
    """What folders there are, and when each was changed: what is derived from all workloads holds as long as this."""
    return tuple((name, file.stat().st_mtime_ns) for name, file in workload_folders().items())


def workload_folder_problems() -> list[str]:
    """Of every folder, and of the files in it, one line each."""
    taken = [
        f"{file}:1: workload: {name!r} is built in as a module; call the folder otherwise"
        for name, file in workload_folders().items()
        if name in _workload_modules()
    ]
    return taken + cast(list[str], importlib.import_module(OF_FOLDERS).problems())


@lru_cache(maxsize=1)
def _workload_modules() -> dict[str, str]:
    files = sorted((PACKAGE / "workloads").glob("*/[a-z]*.py"))
    return {
        file.stem: f"clusterbench.workloads.{file.parent.name}.{file.stem}"
        for file in files
        if DEFINES_WORKLOAD.search(file.read_text(encoding="utf-8"))
    }


def engine_declaration(name: str) -> EngineDeclaration:
    """What the engine of that name says of itself. Raises SpecError with the engines there are."""
    return cast(EngineDeclaration, _engine_part(name, "declaration").DECLARATION)


def engine_module(name: str) -> ModuleType:
    """The module ``engine`` of the engine's folder, with ``ENGINE``. Raises SpecError with the engines there are."""
    return _engine_part(name, "engine")


def _engine_part(name: str, part: str) -> ModuleType:
    if name not in engine_names():
        raise SpecError([f"unknown engine {name!r}{suggest(name, engine_names())}"])
    return importlib.import_module(f"clusterbench.engines.{name}.{part}")


@lru_cache(maxsize=1)
def engine_names() -> tuple[str, ...]:
    """Each engine is a folder of its name, with the modules ``engine`` and ``declaration``."""
    return tuple(sorted(path.parent.name for path in (PACKAGE / "engines").glob("[a-z]*/engine.py")))
