"""``include/sql/<name>/workload.yaml``: what a workload is made of, typed and strict. docs/workload.md has each key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from clusterbench.base.factors import Level
from clusterbench.base.measurements import Better
from clusterbench.spec.loading import Strict

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Text = Annotated[str, Field(min_length=1)]
Value = int | float | str
Names = Annotated[list[Name], Field(min_length=1)]
TYPE = r'^[A-Za-z_"][\w ".]*(\(\d+(, ?\d+)?\))?(\[\])?$'
QUANTITY = re.compile(r"(?:(?P<times>\d+(?:\.\d+)?) \* )?\$(?P<factor>[a-z][a-z0-9_]*)|(?P<count>\d+)")


def _is_quantity(said: int | str) -> int | str:
    if not QUANTITY.fullmatch(str(said)):
        raise ValueError(f"must be a number, '$factor' or '10 * $factor', found {said!r}")
    return said


Quantity = Annotated[int | str, AfterValidator(_is_quantity)]
"""A whole number, or one that grows with a factor: ``1000``, ``$rows``, ``1500000 * $scale_factor``."""


def quantity(said: int | str, levels: Mapping[str, Level]) -> int:
    found = QUANTITY.fullmatch(str(said))
    assert found, said  # the model has looked
    if found["count"]:
        return int(found["count"])
    return int(float(found["times"] or 1) * float(levels[found["factor"]]))


def factor_in(said: int | str) -> str:
    """The factor that a quantity grows with; nothing where it is a number."""
    found = QUANTITY.fullmatch(str(said))
    return (found["factor"] or "") if found else ""


def _is_file_here(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
        raise ValueError(f"must be the name of a file in the workload's own folder, found {name!r}")
    return name


File = Annotated[str, AfterValidator(_is_file_here)]


class DeclaredFactor(Strict):
    """What can be varied: choices, or a range of numbers."""

    title: Text
    choices: Annotated[list[Text], Field(min_length=1)] | None = None
    since: Annotated[float | None, Field(alias="from")] = None
    until: Annotated[float | None, Field(alias="to")] = None
    default: Level
    is_size: Annotated[bool, Field(alias="size")] = False
    is_fractional: Annotated[bool, Field(alias="fractional")] = False
    setting: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.]*$")] | None = None
    says: str = "{}"

    @model_validator(mode="after")
    def _is_one_of_both(self) -> DeclaredFactor:
        has_range = self.since is not None and self.until is not None
        if (self.choices is not None) == has_range or (self.since is None) != (self.until is None):
            raise ValueError("must have either 'choices', or 'from' and 'to'")
        if self.is_size and self.choices:
            raise ValueError("size: grows by a number; write 'from' and 'to' instead of 'choices'")
        if self.says.count("{}") != 1 or self.says.replace("{}", "").strip("{}") != self.says.replace("{}", ""):
            raise ValueError(f"says: must contain {{}} once, in the place of the level, found {self.says!r}")
        return self


class LoadedFrom(Strict):
    """Files on the host that loads, or objects in object storage, as DuckDB reads them there."""

    files: Annotated[
        list[Annotated[str, Field(pattern=r"^(/|s3://[a-z0-9][a-z0-9.-]*/)[^'\x00-\x1f]*$")]], Field(min_length=1)
    ]
    """Absolute paths there, or ``s3://bucket/key``; ``*`` stands for any name."""
    connection: Annotated[str, Field(pattern=r"^[\w.-]+$")] | None = None
    """Of Airflow, with the keys to the objects."""
    format: Literal["csv", "parquet"]
    header: bool = True
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    null_text: str = ""
    """What stands for NULL in CSV."""

    @model_validator(mode="after")
    def _are_where_they_can_be_read(self) -> LoadedFrom:
        in_storage = [file for file in self.files if file.startswith("s3://")]
        if in_storage and len(in_storage) < len(self.files):
            raise ValueError("files: all must be paths, or all must be objects (s3://bucket/key); make two tables")
        if in_storage and not self.connection:
            raise ValueError(f"connection: name Airflow's connection (type aws) with the keys to {in_storage[0]}")
        if self.connection and not in_storage:
            raise ValueError("connection: is for objects (s3://bucket/key), and these are paths; take it out")
        return self


class DeclaredTable(Strict):
    """One table: made by a SELECT, loaded from files, by DuckDB's own statements, or there already."""

    columns: Annotated[dict[Name, Text], Field(min_length=1)] | None = None
    key: list[Name] = []
    indexes: list[Name] = []
    distributed_by: Name | None = None
    rows: Quantity | None = None
    row_bytes: Annotated[int, Field(ge=1)] = 100
    """On disk, header and index entries included: about, for plans and the check of free space."""
    rows_by: File | None = None
    """SELECT of the columns, in their order, from ``$ids``, which gives a column ``id`` from 1 to ``rows``."""
    loaded_from: LoadedFrom | None = None
    existing: Annotated[str, Field(pattern=r"^[A-Za-z_][\w$]*(\.[A-Za-z_][\w$]*)?$")] | None = None
    references: dict[Name, Name] = {}

    @model_validator(mode="after")
    def _is_whole(self) -> DeclaredTable:
        if self.existing:
            if self.model_fields_set - {"existing"}:
                raise ValueError("existing: the table is used as it is; remove the other keys of it")
            return self
        if not self.columns or self.rows is None:
            raise ValueError("needs 'columns' and 'rows', or 'existing: schema.table' if the table exists already")
        if self.rows_by and self.loaded_from:
            raise ValueError("rows_by and loaded_from: rows come from one of them; take out the other")
        for where, named in (
            ("key", self.key),
            ("indexes", self.indexes),
            ("distributed_by", [self.distributed_by] if self.distributed_by else []),
            ("references", list(self.references)),
        ):
            if unknown := [column for column in named if column not in self.columns]:
                raise ValueError(f"{where}: the table has no column {unknown[0]!r}")
        return self


class RowsByDuckdb(Strict):
    """Statements for DuckDB on the host that loads, after which it has the tables that say nothing else."""

    file: File
    generators: list[Literal["tpch", "tpcds"]] = []


class Parameter(Strict):
    """What each execution of a statement draws for itself."""

    range: Annotated[list[Value], Field(min_length=2, max_length=2)] | None = None
    """Both ends included: numbers, ``$factor``, or days as "1994-01-31"."""
    step: Annotated[float, Field(gt=0)] | Literal["day", "month", "year"] | None = None
    choice: Annotated[list[Value], Field(min_length=1)] | None = None
    file: File | None = None
    """A choice of its lines."""
    query: File | None = None
    """A choice of the rows that this SELECT answers before the trial: its first column."""
    row_of: Name | None = None
    """Of the same row as that parameter: of its choices the one in the same place, or, of its query, ``column``."""
    column: Annotated[int, Field(ge=2, le=100)] | None = None
    text: Text | None = None
    """Made of others: "%{color}%"."""
    lookup: dict[str, dict[str, Value]] | None = None
    """``{of: {value: value}}``: what belongs to the value of another."""
    next_after: Quantity | None = None
    """A number that no other execution has, counted on from there."""
    newest_of: Name | None = None
    """A number near the last one that parameter had."""
    zipf: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Of a range, how much the first are preferred; 0.99 as YCSB has it. Without it all alike."""
    is_scattered: Annotated[bool, Field(alias="scattered")] = False
    """Those preferred lie all over the range, and not at its begin."""
    type: Annotated[str, Field(pattern=TYPE, max_length=100)] | None = None
    """Of the engine, as which it stands in statements: ``uuid``, ``shop.state``. Without it numbers and days are such,
    and the values of a query are what they were there."""
    fill_in: Text | None = None
    """What a person has to say yet, as ``clusterbench workload new`` leaves it."""
    count: Annotated[int, Field(ge=1, le=100)] = 1
    """So many that differ: ``$name_1``, ``$name_2``."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Parameter:
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ValueError(f"must say exactly one of {', '.join(KINDS[:-1])}; found {' and '.join(kinds) or 'none'}")
        (kind,) = kinds
        if self.zipf is not None and kind not in ("range", "newest_of"):
            raise ValueError("zipf: is of a 'range' or of 'newest_of'; take it out")
        if self.is_scattered and not (self.zipf and kind == "range"):
            raise ValueError("scattered: is of a 'range' with 'zipf'; take it out")
        if self.count > 1 and (kind not in ("range", "choice", "file", "query") or self.row_of):
            raise ValueError(f"count: several that differ are drawn from a range or a choice, not of {kind!r}")
        if kind not in ("choice", "column") if self.row_of else kind == "column":
            raise ValueError(
                "row_of: names a parameter with a 'query' beside 'column', or one with a 'choice' beside one"
            )
        if self.step is not None and kind != "range":
            raise ValueError("step: is of a 'range'; take it out")
        return self

    @field_validator("range")
    @classmethod
    def _is_of_one_kind(cls, ends: list[Value] | None) -> list[Value] | None:
        if ends is None:
            return None
        for end in ends:
            if isinstance(end, str) and not QUANTITY.fullmatch(end):
                try:
                    date.fromisoformat(end)
                except ValueError:
                    raise ValueError(
                        f'ends must be numbers, "$factor", or days as "1994-01-31", found {end!r}'
                    ) from None
        if is_day(ends[0]) != is_day(ends[1]):
            raise ValueError(f"both ends must be days, or none, found {ends[0]!r} and {ends[1]!r}")
        if not any(isinstance(end, str) for end in ends) and ends[0] > ends[1]:  # type: ignore[operator]
            raise ValueError(f"{ends} holds no number; write the lower end first")
        return ends

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if getattr(self, kind) is not None)


KINDS = ("range", "choice", "file", "query", "column", "text", "lookup", "next_after", "newest_of", "fill_in")


def is_day(end: Value) -> bool:
    return isinstance(end, str) and not QUANTITY.fullmatch(end)


class DeclaredStatement(Strict):
    """SQL in ``<name>.sql``, or in ``<name>.<dialect>.sql`` where an engine needs other words."""

    title: Annotated[str, Field(pattern=r"^[\w .,:()+-]*$", max_length=60)] = ""
    """It stands in a comment before the statement, and in reports."""
    weight: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    parameters: dict[Name, Parameter] = {}
    """Of this statement alone; they stand before those of the workload."""


class Asked(Strict):
    """A number that the database is asked for after each trial."""

    title: Text
    unit: Text
    better: Better = "neither"
    file: File
    """SELECT of one number."""
    minus_before: bool = False
    """What it was before the trial is taken off."""


class Suite(Strict):
    """Expectations over the rows of a query, before anything is measured."""

    rows: File
    suite: File


class Part(Strict):
    """One of several workloads that run at the same time."""

    workload: Name


class WorkloadFile(Strict):
    """All of it."""

    workload: Name
    title: Text
    description: Text
    driven_by: Literal["clients", "streams", "together"]
    factors: dict[Name, DeclaredFactor] = {}
    data_of: Name | None = None
    """Another workload, whose tables the statements are about."""
    parts: dict[Name, Part] = {}
    """Workloads that run together; the first decides the window."""
    tables: dict[Name, DeclaredTable] = {}
    rows_by_duckdb: RowsByDuckdb | None = None
    parameters: dict[Name, Parameter] = {}
    statements: dict[Name, DeclaredStatement] = {}
    mixes: dict[Name, Annotated[dict[Name, Annotated[int, Field(ge=1)]], Field(min_length=1)]] = {}
    """Which statements, and how often each beside the others; a factor ``mix`` chooses."""
    orders: list[Names] = []
    """The order of a stream that is alone, and then those of the first, the second … of several."""
    before_trial: list[File] = []
    """Statements that put the tables right before each trial, not measured."""
    changes: list[Name] = []
    """Tables made here whose rows statements change: they are made again for each run."""
    asked: dict[Name, Asked] = {}
    checks: dict[Name, File] = {}
    """Queries that must answer nothing, before and after each trial."""
    suites: dict[Name, Suite] = {}
    answers: Literal["duckdb", "file", "earlier", "none"] = "none"
    seconds_per_stream: Annotated[float, Field(gt=0)] = 60
    """For plans: how long one stream takes, about."""

    @model_validator(mode="after")
    def _is_whole(self) -> WorkloadFile:
        if self.driven_by == "together":
            if len(self.parts) < 2:
                raise ValueError("parts: name at least two workloads that run together")
            own = {"workload", "title", "description", "driven_by", "parts"}
            if other := sorted(self.model_fields_set - own):
                raise ValueError(f"{other[0]}: is for each part's own workload to say; take it out")
            return self
        if self.parts:
            raise ValueError("parts: are of 'driven_by: together'; take them out")
        if not self.statements:
            raise ValueError("statements: name at least one")
        if bool(self.tables) == bool(self.data_of):
            raise ValueError(
                "tables: name at least one; or 'data_of', a workload whose tables the statements are about"
            )
        return self
