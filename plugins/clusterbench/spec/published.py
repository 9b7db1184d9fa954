"""Numbers printed in a paper, kept as data with their source, to stand beside ours."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from clusterbench.base.errors import suggest
from clusterbench.base.factors import Level
from clusterbench.base.words import THIN_SPACE, exact
from clusterbench.spec.experiment import Name
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
    ratio_to_levels: dict[str, Level] = {}
    """Levels of the cell that it is a ratio to, where they are others."""
    value: float | int
    unit: str
    qualifier: Literal["exactly", "about", "at_least", "less_than", "derived"] = "exactly"
    source: Annotated[str, Field(min_length=1)]

    @property
    def is_relative(self) -> bool:
        """A ratio or a share, which may be looked at beside a cell with another size of data."""
        return self.unit == "1"


class PublishedDifference(Strict):
    """How far two levels of a factor lie apart, where the paper says that and not both numbers."""

    sweep: Name
    measurement: Name
    factor: Name
    of: Level
    minus: Level
    """The level below the minus sign."""
    levels: dict[str, Level] = {}
    value: float | int
    unit: str
    qualifier: Literal["exactly", "about"] = "exactly"
    source: Annotated[str, Field(min_length=1)]


class PublishedTable(Strict):
    """A table as it is printed: named rows, and columns that are measurements, beside which ours can stand."""

    table: Name
    title: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]
    sweeps: list[Name] = []
    """Whose cells at ``levels`` stand beside it; none, where a table says what was measured, not what came out."""
    levels: dict[str, Level] = {}
    row_levels: dict[str, dict[str, Level]] = {}
    """More levels of single rows, where they are not of the same cell."""
    best_by: Name | None = None
    """The measurement whose best repetition was printed, as a row of one run; none, where it is not said."""
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
        if unknown := [name for name in self.row_levels if name not in self.rows]:
            raise ValueError(f"row_levels: {unknown[0]!r} is not a row{suggest(unknown[0], list(self.rows))}")
        if unknown := [name for name in self.ratios_of if name not in self.columns]:
            raise ValueError(f"ratios_of: {unknown[0]!r} is not a column{suggest(unknown[0], self.columns)}")
        return self


class PublishedMetric(Strict):
    """A row of such a table: one metric, ours beside it where it is a measurement or a fact of ours."""

    metric: Annotated[str, Field(min_length=1)]
    measurement: Name | None = None
    fact: Literal["hypervisor", "system", "engine"] | None = None
    """In place of a measurement: what was read back of hosts and engine."""
    unit: str = ""
    values: Annotated[list[float | int | str | None], Field(min_length=1)]
    """One for each of the table's columns; null where the paper prints none."""
    note: str = ""
    """What the paper prints otherwise, or leaves out."""


class PublishedMetrics(Strict):
    """A table, or the sentences, of a paper that has a metric in each row and platforms as its columns."""

    table: Name
    title: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]
    columns: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
    levels: dict[str, Level] = {}
    """Of the cell that was measured: a column stands beside ours of these levels only."""
    column_levels: dict[str, dict[str, Level]] = {}
    """More levels of single columns."""
    rows: Annotated[list[PublishedMetric], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_rectangular(self) -> PublishedMetrics:
        if unknown := [name for name in self.column_levels if name not in self.columns]:
            raise ValueError(f"column_levels: {unknown[0]!r} is not a column{suggest(unknown[0], self.columns)}")
        for row in self.rows:
            if len(row.values) != len(self.columns):
                where = f"rows, {row.metric!r}"
                raise ValueError(f"{where}: {len(row.values)} values for {len(self.columns)} columns")
            if row.measurement and row.fact:
                raise ValueError(f"rows, {row.metric!r}: is a measurement or a fact, not both; take one of them out")
        return self


class Published(Strict):
    """One YAML file in ``include/published``."""

    published: Name
    title: str
    authors: str
    cluster: str
    """The hardware and software that the paper measured, in its own words."""
    values: list[PublishedValue] = []
    differences: list[PublishedDifference] = []
    tables: list[PublishedTable] = []
    metrics: list[PublishedMetrics] = []
    scenarios: PublishedScenarios | None = None
    """A table by concurrency and density, where the paper has one."""

    @model_validator(mode="after")
    def _has_numbers(self) -> Published:
        if not (self.values or self.tables or self.metrics or self.scenarios):
            raise ValueError("has no number: write 'values', 'tables', 'metrics' or 'scenarios'")
        return self


QUALIFIERS = {"exactly": "", "about": "≈", "at_least": "≥", "less_than": "<", "derived": "≈"}


def published_text(value: PublishedValue) -> str:
    text = exact(value.value)
    return f"{QUALIFIERS[value.qualifier]}{THIN_SPACE if QUALIFIERS[value.qualifier] else ''}{text}"
