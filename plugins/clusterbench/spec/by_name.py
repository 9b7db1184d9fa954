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
from typing import Protocol, cast

from clusterbench.base.engine_declaration import EngineDeclaration
from clusterbench.base.errors import SpecError, suggest
from clusterbench.base.factors import Factor
from clusterbench.base.measurements import MeasurementKind

PACKAGE = Path(__file__).parents[1]
DEFINES_WORKLOAD = re.compile(r"^WORKLOAD\b", re.MULTILINE)


class Declared(Protocol):
    """What a workload declares: what can be varied, and what it measures."""

    factors: Mapping[str, Factor]
    measurements: Mapping[str, MeasurementKind]


def declared_by(workload: str) -> Declared:
    """The declarations of the workload of that name. Raises SpecError that lists the workloads there are."""
    return cast(Declared, workload_module(workload).WORKLOAD)


def workload_module(name: str) -> ModuleType:
    """The module that defines the workload. Raises SpecError that lists the workloads there are."""
    modules = _workload_modules()
    if name not in modules:
        raise SpecError([f"unknown workload {name!r}{suggest(name, list(modules))}"])
    return importlib.import_module(modules[name])


def workload_names() -> list[str]:
    """Modules in the folders of the studies that define ``WORKLOAD``, by name."""
    return sorted(_workload_modules())


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
