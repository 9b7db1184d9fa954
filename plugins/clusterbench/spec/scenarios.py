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
    """The scenario's title."""
    placement: Text
    """How the virtual machines are placed, in words."""
    median_change_percent: int | None = None
    """The median of the cells' `change_percent`, as printed. The reference has none."""
    collapsed: bool
    """Whether the paper says that the scenario collapsed."""
    warnings_from: Annotated[int, Field(ge=1)] | None = None
    """The lowest concurrency with warnings, as the text says."""
    steal: Text
    """What the paper says about stolen CPU time."""
    nodes: str = ""
    """What the paper says about how alike the nodes are."""


class ScenarioCell(Strict):
    """One cell, as printed. ``time`` is "x" where no repetition was completed."""

    time: str
    """The time as printed, in quotes, such as `'1:12:04'`. `x` if no repetition was completed."""
    change_percent: int | None = None
    """The change against the reference at the same concurrency, in percent."""
    warnings: Count | None = None
    """How many warnings the paper counts."""
    completed: Count | None = None
    """How many repetitions were completed. Without it, this is all of them."""

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
    """The table's title in the report."""
    source: Text
    """Where the paper prints it."""
    measurement: Name
    """Our measurement that is the time."""
    warnings: Name
    """Our measurement that counts the warnings."""
    factor: Name
    """The factor of concurrency."""
    repetitions: Annotated[int, Field(ge=1)]
    """How many measurements of a cell the paper tried."""
    reference: Density
    """The density that changes are relative to."""
    scenarios: Annotated[dict[Density, Scenario], Field(min_length=1)]
    """The columns, by density."""
    sweeps: Annotated[
        dict[Name, Annotated[dict[int, dict[Density, ScenarioCell]], Field(min_length=1)]], Field(min_length=1)
    ]
    """The cells, by sweep, concurrency and density."""
    notes: list[Text] = []
    """What the paper says beside the table, and where the table contradicts itself."""
    conclusions: list[Text] = []
    """What the paper concludes from the table."""

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
