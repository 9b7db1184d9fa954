"""A statement's constants as parameters: what compares a column with one draws from that column's values. Pure.

What is compared with several columns of one table draws from its rows. What cannot be told is to be filled in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from math import ceil
from typing import Any

from psycopg.sql import SQL, Identifier

from clusterbench.base.sql import identifier, statement
from clusterbench.workloads.declared.counted import Counted, exp, folded, name_of, parsed, with_casts

VALUES_MAX = 500
"""Of a column, that are drawn from."""
LOOKED_AT = 20_000
"""Rows of a table that these are of, as far apart as its sample."""
AROUND_MAX = 60
FILE_NAME_MAX = 100
SIGNS = re.compile(r"\$(\d+)?")
UNTYPED = ("smallint", "integer", "bigint", "numeric", "text", "character varying", "real", "double")
"""Types with which a number or a text is compared as it is."""
WITH_LENGTH = ("date", "smallint", "integer", "bigint", "numeric", "real", "double")
"""Types to which a number can be added."""
FILL_IN = "fill_in"

Columns = Mapping[str, Mapping[str, str]]
"""Table, as statements name it -> column -> its type."""


@dataclass
class Written:
    """File -> what is in it, and what a person has to look at."""

    files: dict[str, str] = field(default_factory=dict)
    to_fill_in: list[str] = field(default_factory=list)
    guessed: list[str] = field(default_factory=list)


@dataclass
class Constants:
    """Of one statement; they become named parameters."""

    called: str
    counted: Counted
    columns: Columns
    made: Written
    samples: Mapping[str, str]

    def __post_init__(self) -> None:
        self.text = with_casts(self.counted.text)
        self.tree = parsed(self.text)
        self.places: dict[int, Any] = {}
        """By the number of a parameter where it stands: of several places one that tells its column."""
        for place in self.tree.find_all(exp().Parameter):
            number = int(place.name or place.this.name)
            if number not in self.places or _compared(self.places[number]) is None:
                self.places[number] = place

    def with_names(self) -> tuple[str, dict[str, str]]:
        """The statement, and what each parameter is drawn from as YAML. SELECTs of values go to ``made``."""
        if self.counted.observed:
            drawn = self._of_log()
        else:
            drawn = self._of_rows() | self._of_ranges()
            drawn |= {number: self._alone(number) for number in self.places if number not in drawn}
        found = {self._name(number): said for number, said in sorted(drawn.items())}
        self._note(found)
        return SIGNS.sub(self._placeholder, self._with_lists()), found

    def _name(self, number: int) -> str:
        return f"{self.called}_p{number}"

    def _note(self, found: Mapping[str, str]) -> None:
        for name, said in found.items():
            if said.startswith(f"{{{FILL_IN}: "):
                self.made.to_fill_in.append(f"{name}: {json.loads(said[len(FILL_IN) + 3 : -1])}")
            if "  # " in said:
                self.made.guessed.append(f"{name}: {said.partition('  # ')[2]}")

    def _with_lists(self) -> str:
        """``= ANY ($1)`` as an array of several."""
        text = self.text
        for number in self._lists:
            text = re.sub(rf"\(\s*\${number}(::[\w ]+(\[\])?)?\s*\)", f"(ARRAY[${number}])", text)
        return text

    @cached_property
    def _lists(self) -> list[int]:
        return [] if self.counted.observed else [n for n, place in self.places.items() if _is_listed(place)]

    def _placeholder(self, match: re.Match[str]) -> str:
        """A sign that begins none is written twice."""
        number = int(match[1]) if match[1] else 0
        if number not in self.places:
            return f"$${match[1] or ''}"
        name = self._name(number)
        if number in self._lists:
            return ", ".join(f"${{{name}_{n}}}" for n in range(1, 4))
        if begin := self._ranges.get(number):
            return f"(${{{self._name(begin)}}} + ${{{name}}})"
        return f"${{{name}}}"

    # What each is drawn from.

    def _of_log(self) -> dict[int, str]:
        """Rows of constants as they stood in the log, so that those stay together that belong together."""
        calls = self.counted.observed
        rows = calls[:: max(1, -(-len(calls) // VALUES_MAX))]
        found, first = {}, min(self.places, default=1)
        for number in sorted(self.places):
            row_of = f"row_of: {self._name(first)}, " if number > first else ""
            kind = self._kind(number)
            typed = f", type: {json.dumps(kind)}" if kind else ""
            found[number] = f"{{{row_of}choice: {json.dumps([row[number - 1] for row in rows])}{typed}}}"
        return found

    def _kind(self, number: int) -> str:
        """The type that a value of the log needs: of its column, or the one that it is cast to."""
        place = self.places[number]
        column, table = self._column(number)
        kind = self.columns[table].get(folded(column.this), "") if table else ""
        if not kind and isinstance(place.parent, exp().Cast):
            kind = str(place.parent.to.sql(dialect="postgres")).lower()
        kind = "bpchar" if kind == "character" else kind
        if kind and _is_listed(place) and not kind.endswith("[]"):
            kind += "[]"
        return kind if kind.endswith("[]") or (kind and not kind.startswith(UNTYPED)) else ""

    def _column(self, number: int) -> tuple[Any, str | None]:
        """What it is compared with, and of which table that is."""
        column = _compared(self.places[number])
        return column, _table_of(column, self.tree, self.columns) if column is not None else None

    def _alone(self, number: int) -> str:
        place = self.places[number]
        column, table = self._column(number)
        if limit := place.find_ancestor(exp().Limit, exp().Fetch):
            return self._limit(limit)
        if place.find_ancestor(exp().Offset):
            return "{choice: [0]}  # an OFFSET; guessed: nothing is left out"
        if table:
            several = ", count: 3" if _is_listed(place) else ""
            return f"{{query: {self._values_of(table, [folded(column.this)])}{several}}}"
        why = f"in {_around(place)}: nobody knows what it stands for"
        if column is not None:
            why = f"compared with {column.sql(dialect='postgres')}, whose table is not known"
        return f"{{{FILL_IN}: {json.dumps(why)}}}"

    def _limit(self, limit: Any) -> str:
        """A statement's own LIMIT is at least what calls answered in the mean."""
        mean = self.counted.rows / self.counted.calls if limit.parent is self.tree else 0.0
        if not mean:
            return "{choice: [100]}  # a LIMIT; guessed, as nobody knows it"
        told = f"{mean:,.0f}" if mean == round(mean) else f"{mean:,.1f}"
        return f"{{choice: [{max(1, ceil(mean))}]}}  # a LIMIT; guessed: a call answered {told} rows in the mean"

    def _of_rows(self) -> dict[int, str]:
        """Parameters that are compared with several columns of one table are of one row of it."""
        groups: dict[tuple[str, str], dict[str, int]] = {}
        for number in sorted(self.places.keys() - self._ranges.keys()):
            place, (column, table) = self.places[number], self._column(number)
            if table and not _is_listed(place) and not isinstance(place.parent, exp().In):
                groups.setdefault((table, str(column.table)), {}).setdefault(folded(column.this), number)
        found = {}
        for (table, _), numbers in groups.items():
            if len(numbers) < 2:
                continue
            file, first = self._values_of(table, list(numbers)), min(numbers.values())
            for at, number in enumerate(numbers.values(), 1):
                row_of = f"{{row_of: {self._name(first)}, column: {at}}}"
                found[number] = f"{{query: {file}}}" if number == first else row_of
        return found

    def _of_ranges(self) -> dict[int, str]:
        """How far one reaches is for a person to say: two ends that are drawn apart are another range."""
        found = {}
        for number, begin in self._ranges.items():
            column, table = self._column(number)
            kind = self.columns[str(table)].get(folded(column.this), "")
            said = f"how far a range of {column.sql(dialect='postgres')} reaches from {self._name(begin)} on"
            found[number] = f"{{{FILL_IN}: {json.dumps(f'{said}, such as {_length(kind)}')}}}"
        return found

    @cached_property
    def _ranges(self) -> dict[int, int]:
        """The end of a range -> its begin, where what lies between can be added to the begin."""
        ends: dict[tuple[str, str], dict[str, int]] = {}
        for number, place in self.places.items():
            column, table = self._column(number)
            if table and (end := _end(place)) and _length(self.columns[table].get(folded(column.this), "")):
                ends.setdefault((str(column.table), folded(column.this)), {}).setdefault(end, number)
        of_log = bool(self.counted.observed)
        return {} if of_log else {both["high"]: both["low"] for both in ends.values() if len(both) == 2}

    def _values_of(self, table: str, names: Sequence[str]) -> str:
        """The file with the SELECT of the columns' values."""
        listed = [Identifier(name) for name in names]
        text = statement(
            "tables",
            "values_of",
            columns=SQL(", ").join(listed),
            table=identifier(table),
            sample=SQL(self.samples.get(table, "")),
            present=SQL(" AND ").join(SQL("{} IS NOT NULL").format(name) for name in listed),
            looked_at=LOOKED_AT,
            values_max=VALUES_MAX,
        )
        text = re.sub(" +$", "", text, flags=re.MULTILINE) + "\n"
        called = f"values_of_{'_'.join(key_of(name) for name in (table, *names))}"[:FILE_NAME_MAX]
        numbered = (f"{called}{f'_{n}' if n > 1 else ''}.sql" for n in count(1))
        file = next(each for each in numbered if self.made.files.get(each, text) == text)
        self.made.files[file] = text
        return file


def _end(place: Any) -> str:
    """Whether it is the low or the high end of a range; else empty."""
    kinds = exp()
    compared, child = place.parent, place
    while isinstance(compared, kinds.Paren | kinds.Cast):
        compared, child = compared.parent, compared
    if isinstance(compared, kinds.Between):
        return next((end for end in ("low", "high") if compared.args.get(end) is child), "")
    is_left = compared.this is child if compared is not None else False
    if isinstance(compared, kinds.GT | kinds.GTE):
        return "high" if is_left else "low"
    if isinstance(compared, kinds.LT | kinds.LTE):
        return "low" if is_left else "high"
    return ""


def _length(kind: str) -> str:
    """An example of what can be added to a value of that type."""
    if kind.startswith(("timestamp", "time")):
        return "choice: ['1 hour'], type: interval"
    return (
        "choice: [7]" if kind.startswith(("date", "smallint", "integer", "bigint", "numeric", "real", "double")) else ""
    )


def _around(place: Any) -> str:
    """What it stands in, for people."""
    said = str(place.parent.sql(dialect="postgres")) if place.parent is not None else ""
    return said if len(said) <= AROUND_MAX else f"{said[:AROUND_MAX]}…"


def _compared(parameter: Any) -> Any | None:
    """The column that is compared with the parameter as they are, if it is one: by =, <, BETWEEN, IN or = ANY."""
    kinds = exp()
    compared, child = parameter.parent, parameter
    while isinstance(compared, kinds.Paren | kinds.Cast | kinds.Any | kinds.Tuple):
        compared, child = compared.parent, compared
    if not isinstance(
        compared, kinds.EQ | kinds.NEQ | kinds.GT | kinds.GTE | kinds.LT | kinds.LTE | kinds.In | kinds.Between
    ):
        return None
    other = compared.this if compared.this is not child else compared.args.get("expression")
    while isinstance(other, kinds.Paren):
        other = other.this
    return other if isinstance(other, kinds.Column) else None


def _is_listed(parameter: Any) -> bool:
    """Whether it stands for several values: = ANY ($1)."""
    return isinstance(parameter.find_ancestor(exp().Any, exp().Select), exp().Any)


def _table_of(column: Any, tree: Any, columns: Columns) -> str | None:
    """By its alias, or the only table that has such a column."""
    kinds = exp()
    name = folded(column.this)
    aliases = {str(table.alias_or_name): name_of(table) for table in tree.find_all(kinds.Table)}
    if column.table:
        found = aliases.get(str(column.table))
        return found if found and name in columns.get(found, {}) else None
    having = [table for table in dict.fromkeys(aliases.values()) if name in columns.get(table, {})]
    return having[0] if len(having) == 1 else None


def key_of(name: str) -> str:
    """As a name in YAML, and as a part of a file's name."""
    key = re.sub(r"[^a-z0-9_]", "_", name.lower())[:39]
    return key if key[0].isalpha() else f"t_{key}"[:39]
