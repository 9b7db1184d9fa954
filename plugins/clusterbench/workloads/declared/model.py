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

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="a name")]
Text = Annotated[str, Field(min_length=1)]
Value = int | float | str
Names = Annotated[list[Name], Field(min_length=1)]
TYPE = r'^[A-Za-z_"][\w ".]*(\(\d+(, ?\d+)?\))?(\[\])?$'
QUANTITY = re.compile(r"(?:(?P<times>\d+(?:\.\d+)?) \* )?\$(?P<factor>[a-z][a-z0-9_]*)|(?P<count>\d+)")


def _is_quantity(said: int | str) -> int | str:
    if not QUANTITY.fullmatch(str(said)):
        raise ValueError(f"must be a number, '$factor' or '10 * $factor', found {said!r}")
    return said


Quantity = Annotated[
    int | str, AfterValidator(_is_quantity), Field(description="a whole number, `$factor` or `10 * $factor`")
]
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


File = Annotated[str, AfterValidator(_is_file_here), Field(description="the name of a file")]


class DeclaredFactor(Strict):
    """What can be varied: choices, or a range of numbers."""

    title: Text
    """What the factor is, for people."""
    choices: Annotated[list[Text], Field(min_length=1)] | None = None
    """The words that are allowed. Write either this, or `from` and `to`."""
    since: Annotated[float | None, Field(alias="from")] = None
    """The smallest number that is allowed."""
    until: Annotated[float | None, Field(alias="to")] = None
    """The largest number that is allowed."""
    default: Level
    """The level if an experiment does not name the factor."""
    is_size: Annotated[bool, Field(alias="size")] = False
    """`true`: tables grow with it. Another level needs other data, and a rehearsal divides it."""
    is_fractional: Annotated[bool, Field(alias="fractional")] = False
    """`true`: numbers need not be whole."""
    setting: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.]*$", description="a setting")] | None = None
    """The setting of each session that the factor is, such as `work_mem`. See
    docs/workload.md#factors-that-are-settings."""
    says: str = "{}"
    """How a level reads in a label, such as `"{} rows"`."""

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
        list[Annotated[str, Field(pattern=r"^(/|s3://[a-z0-9][a-z0-9.-]*/)[^'\x00-\x1f]*$")]],
        Field(min_length=1, description="a list of absolute paths, or of `s3://bucket/key`"),
    ]
    """Paths on the ETL host, or docs/workload.md#rows-from-object-storage. `*` stands for any name."""
    connection: Annotated[str, Field(pattern=r"^[\w.-]+$", description="the name of a connection")] | None = None
    """The Airflow connection with the keys to the object storage. Required for objects, refused for paths."""
    format: Literal["csv", "parquet"]
    """The format of the files."""
    header: bool = True
    """CSV only: whether the first line names the columns."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1, description="one character")] = ","
    """CSV only: the character between two values."""
    null_text: str = ""
    """CSV only: the text that stands for NULL. An empty text becomes NULL."""

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


Table = Annotated[
    str,
    Field(pattern=r"^[A-Za-z_][\w$]*(\.[A-Za-z_][\w$]*)?$", description="the name of a table, perhaps with its schema"),
]


class DeclaredTable(Strict):
    """One table: made by a SELECT, loaded from files, by DuckDB's own statements, or there already."""

    columns: Annotated[dict[Name, Text], Field(min_length=1)] | None = None
    """For each column: its type, in the order of the rows. Required unless the table is `existing`."""
    key: list[Name] = []
    """The columns of the primary key. Append-optimised tables have none."""
    indexes: list[Name] = []
    """Columns with an index each. Append-optimised tables have none."""
    distributed_by: Name | None = None
    """The column by which Greenplum distributes the rows. Without it, every segment has all rows."""
    rows: Quantity | None = None
    """How many rows the table has. Required unless the table is `existing`."""
    row_bytes: Annotated[int, Field(ge=1)] = 100
    """About how many bytes a row has on disk, for plans and the check of free space."""
    rows_by: File | None = None
    """A file with a SELECT of all columns. See docs/workload.md#rows-by-a-select."""
    loaded_from: LoadedFrom | None = None
    """Files or objects with the rows. Files that change need another name; otherwise the old rows stay."""
    existing: Table | None = None
    """A table that is there already, such as `shop.orders`. Then nothing else is written about it."""
    references: dict[Name, Name] = {}
    """For each column: the table whose key it refers to, or NULL. This is checked before anything is measured."""

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
    """Statements for DuckDB on the ETL host. Afterwards DuckDB has every table that names no other source."""
    generators: list[Literal["tpch", "tpcds"]] = []
    """DuckDB's generators that the statements call: `dbgen` of `tpch`, `dsdgen` of `tpcds`."""


class Parameter(Strict):
    """What each execution of a statement draws for itself."""

    range: Annotated[list[Value], Field(min_length=2, max_length=2)] | None = None
    """The first and the last value: numbers, `$factor`, or days such as `"1994-01-31"`."""
    step: Annotated[float, Field(gt=0)] | Literal["day", "month", "year"] | None = None
    """The distance of two values of a `range`."""
    choice: Annotated[list[Value], Field(min_length=1)] | None = None
    """One of these values."""
    file: File | None = None
    """One of the lines of a `.txt` file."""
    query: File | None = None
    """One of the rows that the SELECT in this file returns before the trial: its first column."""
    row_of: Name | None = None
    """Another parameter of the same row. See docs/workload.md#parameters-of-one-row."""
    column: Annotated[int, Field(ge=2, le=100)] | None = None
    """This column of the query of the parameter that `row_of` names."""
    text: Text | None = None
    """A text made of other parameters, such as `"%{color}%"`."""
    lookup: dict[str, dict[str, Value]] | None = None
    """Streams only: `{other: {value: value}}`, which gives the value that belongs to the value of another parameter."""
    next_after: Quantity | None = None
    """Clients only: a number that no other execution has, counted on from this one."""
    newest_of: Name | None = None
    """Clients only: a number near the last one of such a parameter. Its row may not be there yet."""
    zipf: Annotated[float, Field(gt=0, lt=1)] | None = None
    """How much the first values of a `range` are preferred. YCSB has 0.99. Without it, all are drawn alike."""
    is_scattered: Annotated[bool, Field(alias="scattered")] = False
    """`true`: the preferred values of `zipf` lie all over the range, not at its beginning."""
    type: Annotated[str, Field(pattern=TYPE, max_length=100, description="a type")] | None = None
    """The engine's type of the value in statements, such as `uuid`. See docs/workload.md#types-of-parameters."""
    fill_in: Text | None = None
    """What a person must still write here. `clusterbench workload new` writes this key."""
    count: Annotated[int, Field(ge=1, le=100)] = 1
    """How many different values are drawn: `$name_1`, `$name_2` and so on."""

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

    title: Annotated[
        str,
        Field(
            pattern=r"^[\w .,:()+-]*$",
            max_length=60,
            description="a text of at most 60 letters, digits, blanks and `_.,:()+-`",
        ),
    ] = ""
    """Stands in a comment before the statement, and in reports."""
    weight: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Clients only: how often the statement runs compared with the others."""
    parameters: dict[Name, Parameter] = {}
    """Parameters of this statement alone. They take precedence over the workload's."""


class Asked(Strict):
    """A number that the database is asked for after each trial."""

    title: Text
    """What the number is, for people."""
    unit: Text
    """The unit of the number."""
    better: Better = "neither"
    """Which direction is better."""
    file: File
    """A file with a SELECT of one number."""
    minus_before: bool = False
    """`true`: the number before the trial is subtracted."""


class Suite(Strict):
    """Expectations over the rows of a query, before anything is measured."""

    rows: File
    """A file with a SELECT."""
    suite: File
    """A file with the expectations for its rows (Great Expectations), such as those in `expectations/`."""


class Part(Strict):
    """One of several workloads that run at the same time."""

    workload: Name
    """The workload that is this part."""


class WorkloadFile(Strict):
    """All of it."""

    workload: Name
    """The workload's name. Its folder has the same name."""
    title: Text
    """A short title."""
    description: Text
    """What the workload is about."""
    driven_by: Literal["clients", "streams", "together"]
    """What runs the statements: see docs/workload.md#drivers."""
    factors: dict[Name, DeclaredFactor] = {}
    """What experiments can vary in addition to the factors that the driver has."""
    data_of: Name | None = None
    """Instead of `tables`: another workload, whose tables the statements are about."""
    parts: dict[Name, Part] = {}
    """With `driven_by: together`: the workloads that run together. The first decides the window."""
    tables: dict[Name, DeclaredTable] = {}
    """The tables by name. Required unless `data_of` is written, or workloads run together."""
    rows_by_duckdb: RowsByDuckdb | None = None
    """Statements for DuckDB that make the rows. The rows then go through the engine's own bulk loader."""
    parameters: dict[Name, Parameter] = {}
    """Parameters that several statements draw."""
    statements: dict[Name, DeclaredStatement] = {}
    """The statements by name. Required unless workloads run together."""
    mixes: dict[Name, Annotated[dict[Name, Annotated[int, Field(ge=1)]], Field(min_length=1)]] = {}
    """Clients only: by name, statements and their weights. The factor `mix` chooses one."""
    orders: list[Names] = []
    """Streams only: lists of statements. See docs/workload.md#orders-of-statements. Without it, the seed shuffles the
    statements."""
    before_trial: list[File] = []
    """Files of statements that prepare the tables before each trial. They are not measured."""
    changes: list[Name] = []
    """Tables whose rows the statements change. They are rebuilt for each run, and vacuumed before each trial."""
    asked: dict[Name, Asked] = {}
    """Numbers that the database is asked for after each trial."""
    checks: dict[Name, File] = {}
    """Files with a SELECT that must return nothing. See docs/workload.md#checks."""
    suites: dict[Name, Suite] = {}
    """Expectations for the rows of a query. They are checked before anything is measured."""
    answers: Literal["duckdb", "file", "earlier", "none"] = "none"
    """What checks the answers: see docs/workload.md#who-checks-the-answers."""
    seconds_per_stream: Annotated[float, Field(gt=0)] = 60
    """Streams only: about how many seconds one stream takes, for plans."""

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
