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
    """The sweep whose cell the number stands beside."""
    measurement: Name
    """Our measurement that stands beside the number."""
    platform: Name | None = None
    """The platform of the number, if the paper compares platforms."""
    ratio_to: Name | None = None
    """The platform that the number is a ratio to. Its `unit` is then `"1"`."""
    levels: dict[str, Level]
    """The levels of the paper's cell, as far as it prints them. See
    docs/reference.md#which-of-our-cells-a-published-number-stands-beside."""
    ratio_to_levels: dict[str, Level] = {}
    """The levels of the cell that the number is a ratio to, if they differ from `levels`."""
    value: float | int
    """The number as it is printed."""
    unit: str
    """The unit of the number. `"1"` is a ratio or a share."""
    qualifier: Literal["exactly", "about", "at_least", "less_than", "derived"] = "exactly"
    """How exact the paper says the number is. `derived`: computed from numbers that the paper prints."""
    source: Annotated[str, Field(min_length=1)]
    """Where the paper prints it, such as a table or a figure."""

    @property
    def is_relative(self) -> bool:
        """A ratio or a share, which may be looked at beside a cell with another size of data."""
        return self.unit == "1"


class PublishedDifference(Strict):
    """How far two levels of a factor lie apart, where the paper says that and not both numbers."""

    sweep: Name
    """The sweep whose cells the difference is about."""
    measurement: Name
    """Our measurement that stands beside it."""
    factor: Name
    """The factor whose two levels differ."""
    of: Level
    """The level that the other one is subtracted from."""
    minus: Level
    """The level that is subtracted."""
    levels: dict[str, Level] = {}
    """The levels of the paper's cells, as far as it prints them."""
    value: float | int
    """The difference as it is printed."""
    unit: str
    """The unit of the difference."""
    qualifier: Literal["exactly", "about"] = "exactly"
    """How exact the paper says the difference is."""
    source: Annotated[str, Field(min_length=1)]
    """Where the paper prints it."""


class PublishedTable(Strict):
    """A table as it is printed: named rows, and columns that are measurements, beside which ours can stand."""

    table: Name
    """The table's name."""
    title: Annotated[str, Field(min_length=1)]
    """The table's title in the report."""
    source: Annotated[str, Field(min_length=1)]
    """Where the paper prints it."""
    sweeps: list[Name] = []
    """The sweeps whose cells at `levels` stand beside the table."""
    levels: dict[str, Level] = {}
    """The levels of our cells that stand beside the table."""
    row_levels: dict[str, dict[str, Level]] = {}
    """More levels of single rows, by their names, if rows belong to different cells."""
    best_by: Name | None = None
    """The measurement whose best repetition the table prints, all columns from that one run. Without it, ours are
    medians."""
    columns: Annotated[list[Name], Field(min_length=1)]
    """The measurements of the columns."""
    rows: Annotated[dict[str, list[float | int]], Field(min_length=1)]
    """For each row: its name, and one number for each column."""
    ratios_of: list[Name] = []
    """The columns that the paper draws as ratios to its first row."""
    ratios_title: str = ""
    """The title of the figure of these ratios."""

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
    """What the paper calls the metric."""
    measurement: Name | None = None
    """Our measurement that stands beside it, of any workload of the experiment."""
    fact: Literal["hypervisor", "system", "engine"] | None = None
    """Instead of a measurement: a fact of ours, as it was read back."""
    unit: str = ""
    """The unit of the values."""
    values: Annotated[list[float | int | str | None], Field(min_length=1)]
    """One value for each column. `null` stands for a value that the paper does not print."""
    note: str = ""
    """What the paper prints differently, or leaves out."""


class PublishedMetrics(Strict):
    """A table, or the sentences, of a paper that has a metric in each row and platforms as its columns."""

    table: Name
    """The table's name."""
    title: Annotated[str, Field(min_length=1)]
    """The table's title in the report."""
    source: Annotated[str, Field(min_length=1)]
    """Where the paper prints it."""
    columns: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
    """The names of the columns, such as platforms."""
    levels: dict[str, Level] = {}
    """The levels of the paper's cell. A column stands only beside our cells of these levels."""
    column_levels: dict[str, dict[str, Level]] = {}
    """More levels of single columns."""
    rows: Annotated[list[PublishedMetric], Field(min_length=1)]
    """The metrics."""

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
    """The name of the paper's file."""
    title: str
    """The paper's title."""
    authors: str
    """The paper's authors."""
    cluster: str
    """The hardware and software that the paper measured, in its own words."""
    values: list[PublishedValue] = []
    """Single numbers."""
    differences: list[PublishedDifference] = []
    """How far two levels lie apart, where the paper prints that and not both numbers."""
    tables: list[PublishedTable] = []
    """Tables with a named row for each case, and measurements as columns."""
    metrics: list[PublishedMetrics] = []
    """Tables, or sentences, with a metric in each row and platforms as columns."""
    scenarios: PublishedScenarios | None = None
    """A table by concurrency and density of virtual machines."""

    @model_validator(mode="after")
    def _has_numbers(self) -> Published:
        if not (self.values or self.tables or self.metrics or self.scenarios):
            raise ValueError("has no number: write 'values', 'tables', 'metrics' or 'scenarios'")
        return self


QUALIFIERS = {"exactly": "", "about": "≈", "at_least": "≥", "less_than": "<", "derived": "≈"}


def published_text(value: PublishedValue) -> str:
    text = exact(value.value)
    return f"{QUALIFIERS[value.qualifier]}{THIN_SPACE if QUALIFIERS[value.qualifier] else ''}{text}"
