"""``include/sql/tpcds/parameters.yaml``: the substitution parameters of the 99 queries, typed and strict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from string import Formatter
from typing import Annotated

from pydantic import Field, field_validator

from clusterbench.base.errors import SpecError, suggest
from clusterbench.spec.loading import Strict, load, located

Value = int | str
Values = Annotated[list[Value], Field(min_length=1)]
KINDS = ("range", "choice", "class_of", "day", "after", "text")
EVERY_QUERY = [f"q{number:02}" for number in range(1, 100)]


class Day(Strict):
    """A day between two, month and day, of the year that the parameter ``of`` holds."""

    of: str
    """The parameter that holds the year."""
    since: Annotated[str, Field(alias="from")]
    """The first day, such as `"08-30"`."""
    until: Annotated[str, Field(alias="to")]
    """The last day."""

    @field_validator("since", "until")
    @classmethod
    def _is_a_day(cls, month_day: str) -> str:
        try:
            date.fromisoformat(f"1998-{month_day}")
        except ValueError:
            raise ValueError(f'must be a month and a day as "08-30", found {month_day!r}') from None
        return month_day


class Parameter(Strict):
    """What the file's head says of each key. A list in ``is`` stands for as many parameters, which differ."""

    given: Annotated[Value | Values, Field(alias="is")]
    """The specification's qualification value. A list stands for as many parameters, which differ."""
    range: Annotated[list[int], Field(min_length=2, max_length=2)] | None = None
    """Draws a whole number: the first and the last that are allowed."""
    choice: str | Values | None = None
    """Draws one of these values, or one of the list of that name in `lists`."""
    class_of: str | None = None
    """Draws a class of the category that the other parameter holds."""
    day: Day | None = None
    """Draws a day."""
    after: Annotated[dict[str, int], Field(min_length=1, max_length=1)] | None = None
    """Another parameter that holds a day, and how many days later this one is."""
    text: str | None = None
    """A text made of other parameters of the query."""

    @field_validator("range")
    @classmethod
    def _rises(cls, ends: list[int] | None) -> list[int] | None:
        if ends and ends[0] > ends[1]:
            raise ValueError(f"{ends} holds no number; write the lower end first")
        return ends

    @property
    def kinds(self) -> list[str]:
        return [kind for kind in KINDS if getattr(self, kind) is not None]

    def names(self, name: str) -> list[str]:
        return [f"{name}_{n}" for n in range(1, len(self.given) + 1)] if isinstance(self.given, list) else [name]

    def uses(self) -> list[str]:
        """Names of the parameters this one is made of."""
        if self.text is not None:
            return [field for _, field, _, _ in Formatter().parse(self.text) if field]
        if self.class_of:
            return self.names(self.class_of)
        return [self.day.of] if self.day else list(self.after or [])


class Declared(Strict):
    lists: dict[str, Values]
    """Values by name, from which parameters draw."""
    classes: dict[str, Annotated[list[str], Field(min_length=1)]]
    """For each category of items: its classes."""
    queries: dict[str, Annotated[dict[str, Parameter], Field(min_length=1)]]
    """For each query: its parameters."""
    fixed: dict[str, str]
    """Queries without drawn parameters, with the reason."""

    def domain(self, parameter: Parameter) -> Sequence[Value]:
        if parameter.range:
            lowest, highest = parameter.range
            return range(lowest, highest + 1)
        if isinstance(parameter.choice, str):
            return self.lists[parameter.choice]
        return parameter.choice or []


def read(path: Path) -> Declared:
    """Raises SpecError with every problem; each names its query and parameter."""
    declared = load(path, Declared)
    if problems := [*_of_coverage(declared), *_of_parameters(declared)]:
        raise SpecError([located(path, problem) for problem in problems])
    return declared


def _of_coverage(declared: Declared) -> Iterator[str]:
    for part in ("queries", "fixed"):
        for query in sorted(getattr(declared, part).keys() - EVERY_QUERY):
            yield f"{part}.{query}: there is no such query; they are q01 to q99"
    for query in EVERY_QUERY:
        places = (query in declared.queries) + (query in declared.fixed)
        if places != 1:
            found = "both" if places else "neither"
            yield f"queries: {query} stands in {found} of `queries` and `fixed`; it must stand in one"


def _of_parameters(declared: Declared) -> Iterator[str]:
    for query, parameters in declared.queries.items():
        known: list[str] = []
        for name, parameter in parameters.items():
            where = f"queries.{query}.{name}"
            yield from (f"{where}: {problem}" for problem in _of_one(declared, parameter, known))
            known += parameter.names(name)


def _of_one(declared: Declared, parameter: Parameter, known: list[str]) -> Iterator[str]:
    if len(parameter.kinds) != 1:
        found = " and ".join(parameter.kinds) or "none"
        yield f"must say exactly one of {', '.join(KINDS)}; found {found}"
        return
    for used in parameter.uses():
        if used not in known:
            yield f"is made of {used!r}, which does not stand before it in this query{suggest(used, known)}"
    if isinstance(parameter.choice, str) and parameter.choice not in declared.lists:
        yield f"there is no list {parameter.choice!r}{suggest(parameter.choice, declared.lists)}"
    elif parameter.range or parameter.choice:
        yield from _of_domain(parameter.given, declared.domain(parameter))


def _of_domain(given: Value | list[Value], domain: Sequence[Value]) -> Iterator[str]:
    values = given if isinstance(given, list) else [given]
    if len(values) > len(domain):
        yield f"{len(values)} different values cannot be drawn from {len(domain)}"
    if isinstance(domain, list) and len(set(domain)) < len(domain):
        yield "a value stands twice in its domain; write it once"
    if {type(value) for value in values} != {type(value) for value in (*domain[:1], *domain[-1:])}:
        yield f"`is` and the domain must both be numbers or both texts, found {values[0]!r} and {domain[0]!r}"
