"""A paper's table of times by concurrency and density scenario, with the cells that did not complete."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from clusterbench.spec.experiment import Name
from clusterbench.spec.loading import Strict
from clusterbench.spec.placement import Density

NOT_COMPLETED = "x"
Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=0)]


class Scenario(Strict):
    """One column: what it is, and what the paper concludes of it."""

    title: Text
    placement: Text
    median_change_percent: int | None = None
    """Of the cells' ``change_percent``, as printed; none of the reference."""
    collapsed: bool
    warnings_from: Annotated[int, Field(ge=1)] | None = None
    """The lowest concurrency with warnings, as the text has it."""
    steal: Text
    nodes: str = ""
    """What the paper says of how alike the nodes are; empty where it says nothing."""


class ScenarioCell(Strict):
    """One cell, as printed. ``time`` is "x" where no repetition was completed."""

    time: str
    change_percent: int | None = None
    """Against the reference scenario's time at the same concurrency."""
    warnings: Count | None = None
    completed: Count | None = None
    """Of the table's ``repetitions``; all of them unless it is said."""

    @field_validator("time", mode="before")
    @classmethod
    def _is_a_clock(cls, time: Any) -> Any:
        """YAML reads 1:12:04 without quotes as a number to the base of 60."""
        if not isinstance(time, str):
            raise ValueError(f"must be a text as '1:12:04' in quotes, or x, found {time!r}")
        return time

    @model_validator(mode="after")
    def _is_x_or_a_time(self) -> ScenarioCell:
        if (self.time == NOT_COMPLETED) != (self.completed == 0):
            raise ValueError(f"'completed: 0' and 'time: x' belong together, found {self.completed} and {self.time!r}")
        if self.time != NOT_COMPLETED:
            _seconds(self.time)
        elif self.change_percent is not None:
            raise ValueError(f"change_percent: is {self.change_percent}, but nothing was completed; leave it out")
        return self

    @property
    def time_s(self) -> int | None:
        return None if self.time == NOT_COMPLETED else _seconds(self.time)


def _seconds(clock: str) -> int:
    parts = clock.split(":")
    if len(parts) != 3 or not all(part.isdigit() for part in parts) or max(map(int, parts[1:])) > 59:
        raise ValueError(f"time: must be as '1:12:04' (hours, minutes, seconds) or x, found {clock!r}")
    hours, minutes, seconds = map(int, parts)
    return hours * 3600 + minutes * 60 + seconds


class PublishedScenarios(Strict):
    """The whole table: sweep -> concurrency -> scenario -> cell."""

    title: Text
    source: Text
    measurement: Name
    warnings: Name
    """The measurement that counts the warnings."""
    factor: Name
    """Of concurrency."""
    repetitions: Annotated[int, Field(ge=1)]
    reference: Density
    scenarios: Annotated[dict[Density, Scenario], Field(min_length=1)]
    sweeps: Annotated[
        dict[Name, Annotated[dict[int, dict[Density, ScenarioCell]], Field(min_length=1)]], Field(min_length=1)
    ]
    notes: list[Text] = []
    """Beside the table in the paper, and what in it does not agree with itself."""
    conclusions: list[Text] = []

    @model_validator(mode="after")
    def _is_whole(self) -> PublishedScenarios:
        if self.reference not in self.scenarios:
            raise ValueError(f"reference: {self.reference!r} is not one of the scenarios ({', '.join(self.scenarios)})")
        for sweep, rows in self.sweeps.items():
            for level, cells in rows.items():
                self._check_row(f"sweeps.{sweep}.{level}", cells)
        return self

    def _check_row(self, where: str, cells: dict[Density, ScenarioCell]) -> None:
        if missing := [name for name in self.scenarios if name not in cells]:
            raise ValueError(f"{where}: scenario {missing[0]!r} is missing; every row needs all of them")
        if unknown := [name for name in cells if name not in self.scenarios]:
            raise ValueError(f"{where}: {unknown[0]!r} is not one of the scenarios ({', '.join(self.scenarios)})")
        for name, cell in cells.items():
            if cell.completed is not None and cell.completed > self.repetitions:
                raise ValueError(f"{where}.{name}: {cell.completed} completed of {self.repetitions} repetitions")
            if name == self.reference and cell.change_percent is not None:
                raise ValueError(f"{where}.{name}.change_percent: would compare the scenario with itself; remove it")

    def cell(self, sweep: str, level: int, density: str) -> ScenarioCell | None:
        return next((cell for name, cell in self.sweeps[sweep][level].items() if name == density), None)
