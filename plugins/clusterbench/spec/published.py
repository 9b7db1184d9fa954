"""Numbers printed in a paper, kept as data with their source, to stand beside ours."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from clusterbench.errors import suggest
from clusterbench.spec.experiment import Level, Name
from clusterbench.spec.loading import Strict
from clusterbench.spec.scenarios import PublishedScenarios


class PublishedValue(Strict):
    """One number, the cell it belongs to (sweep and levels), and the words it was taken from."""

    sweep: Name
    measurement: Name
    platform: Name | None = None
    """Where the paper compares platforms."""
    ratio_to: Name | None = None
    """The platform that it is a ratio to; the unit is 1 then."""
    levels: dict[str, Level]
    value: float | int
    unit: str
    qualifier: Literal["exactly", "about", "at_least", "less_than", "derived"] = "exactly"
    source: Annotated[str, Field(min_length=1)]


class PublishedTable(Strict):
    """A table as it is printed: named rows, and columns that are measurements, beside which ours can stand."""

    table: Name
    title: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]
    sweeps: list[Name] = []
    """Whose cells at ``levels`` stand beside it; none, where a table says what was measured, not what came out."""
    levels: dict[str, Level] = {}
    columns: Annotated[list[Name], Field(min_length=1)]
    rows: Annotated[dict[str, list[float | int]], Field(min_length=1)]
    ratios_of: list[Name] = []
    """Columns whose ratio to the first row's the paper draws as a figure."""
    ratios_title: str = ""

    @model_validator(mode="after")
    def _is_rectangular(self) -> PublishedTable:
        for name, values in self.rows.items():
            if len(values) != len(self.columns):
                raise ValueError(f"rows.{name}: {len(values)} values for {len(self.columns)} columns")
        if unknown := [name for name in self.ratios_of if name not in self.columns]:
            raise ValueError(f"ratios_of: {unknown[0]!r} is not a column{suggest(unknown[0], self.columns)}")
        return self


class Published(Strict):
    """One YAML file in ``include/published``."""

    published: Name
    title: str
    authors: str
    cluster: str
    """The hardware and software that the paper measured, in its own words."""
    values: list[PublishedValue] = []
    tables: list[PublishedTable] = []
    scenarios: PublishedScenarios | None = None
    """A table by concurrency and density, where the paper has one."""

    @model_validator(mode="after")
    def _has_numbers(self) -> Published:
        if not (self.values or self.tables or self.scenarios):
            raise ValueError("has no number: write 'values', 'tables' or 'scenarios'")
        return self
