"""What the database is asked before and after a trial: numbers of its own, and queries that must answer nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterbench.base.factors import Level
from clusterbench.base.sql import raw, statement
from clusterbench.drivers.mix_readings import rows
from clusterbench.workloads.declared.folder import Folder

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Database

SHOWN = 3
"""Rows of a check that should not be there."""


def before(folder: Folder, trial: Trial, engine: Database, settings: Mapping[str, str]) -> dict[str, Any]:
    """Numbers of which the difference is reported; and what is wrong already, in words."""
    numbers = {
        name: _number(engine.query(_text(folder, one.file, trial.levels), settings=settings))
        for name, one in folder.said.asked.items()
        if one.minus_before
    }
    problems = []
    for name, file in folder.said.checks.items():
        if found := engine.query(limited(_text(folder, file, trial.levels), SHOWN), settings=settings):
            problems.append(f"{name}: {_shown(found)}")
    return {"numbers": numbers, "problems": problems}


def of_trial(folder: Folder, trial: Trial) -> dict[str, str]:
    """Name -> what psql asks when the driver has ended."""
    numbers = {f"asked_{n}": f"{_text(folder, one.file, trial.levels)};\n" for n, one in folder.said.asked.items()}
    checks = {
        f"check_{n}": limited(_text(folder, file, trial.levels), SHOWN) + ";\n"
        for n, file in folder.said.checks.items()
    }
    return numbers | checks


def read(folder: Folder, output: Path, before: Mapping[str, Any]) -> tuple[dict[str, float], list[str]]:
    """Measurements, and what is wrong after the trial. ``before``: what ``before`` told."""
    found: dict[str, float] = {}
    for name, one in folder.said.asked.items():
        number = _number(rows(file)) if (file := output / f"after.asked_{name}.csv").exists() else None
        start = (before.get("numbers") or {}).get(name) if one.minus_before else 0.0
        if number is not None and start is not None:
            found[name] = number - start
    problems = []
    for name in folder.said.checks:
        file = output / f"after.check_{name}.csv"
        if not file.exists():
            problems.append(f"check {name!r} was not asked after the trial")
        elif wrong := rows(file):
            problems.append(f"after the trial, check {name!r} found what must not be: {_shown(wrong)}")
    return found, problems


def limited(query: str, rows_max: int) -> str:
    """The first rows of a query, whatever it ends with."""
    return statement("tables", "limited", query=raw(query), rows_max=rows_max)


def _text(folder: Folder, file: str, levels: Mapping[str, Level]) -> str:
    return folder.only_statement(file, {name: raw(str(levels[name])) for name in folder.said.factors})


def _number(answer: list[dict[str, Any]] | list[dict[str, str]]) -> float | None:
    """The first column of the first row."""
    value = next(iter(answer[0].values()), None) if answer else None
    return None if value in (None, "") else float(value)


def _shown(found: list[dict[str, Any]] | list[dict[str, str]]) -> str:
    return "; ".join(", ".join(f"{key} {value}" for key, value in row.items()) for row in found[:SHOWN])
