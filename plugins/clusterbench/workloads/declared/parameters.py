"""What executions of a statement draw: by Python for streams, before they run; by pgbench for clients, while they run.

What a stream draws depends on the seed, the statement and the stream alone: it is the same at every concurrency and in
every repetition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from random import Random
from string import Formatter

from psycopg import sql

from clusterbench.base.errors import EngineError
from clusterbench.base.factors import Level
from clusterbench.base.sql import raw
from clusterbench.workloads.declared.model import Parameter, Value, is_day, quantity
from clusterbench.workloads.declared.zipf import Zipf


@dataclass(frozen=True, order=True)
class Typed:
    """A value of the engine's as a text, and the name of its type."""

    text: str
    type: str


Drawn = int | str | Decimal | date | Typed
Listed = Mapping[int, Sequence[Value | Decimal | date | Typed]]
"""By the parameter (``id``) what its file or its query says."""
INTEGER_END, BIGINT_END = 2**31, 2**63
RESOLUTION = 2**40
"""Of pgbench's uniform numbers between 0 and 1."""
VARIABLE = re.compile(r"(?<!:):([A-Za-z_]\w*)")
"""What pgbench takes for a variable of its own, within quotes, too."""
CHOICES_OF_CLIENTS_MAX = 1000
"""They stand in the statement's text, of which the server reads every letter."""


class DomainError(EngineError):
    """There is nothing to draw from, or too much."""


@dataclass(frozen=True)
class Domain:
    """What a parameter may be: one of ``size`` values, or what ``choices`` lists."""

    size: int
    low: Drawn = 0
    step: int | Decimal | str = 1
    choices: Sequence[Value | Decimal | date | Typed] = ()
    type: str = ""
    """As which a choice stands in statements, where the parameter says it."""

    def value(self, index: int) -> Drawn:
        if self.choices:
            chosen = self.choices[index]
            return Decimal(str(chosen)) if isinstance(chosen, float) else chosen
        if isinstance(self.low, date):
            return _later(self.low, index, str(self.step))
        assert isinstance(self.low, int | Decimal)
        assert isinstance(self.step, int | Decimal)
        return self.low + self.step * index

    def sql(self, index: str) -> str:
        """Of pgbench's variable ``index``."""
        if self.choices:
            kind = self.type or _kind(self.choices)
            if kind.endswith("[]"):  # an array of arrays is one of more dimensions
                texts = ", ".join(_bare(word(self.value(n))) for n in range(self.size))
                return f"CAST((CAST(ARRAY[{texts}] AS text[]))[1 + {index}] AS {kind})"
            listed = ", ".join(_bare(self.value(n)) for n in range(self.size))
            return f"(CAST(ARRAY[{listed}] AS {kind}[]))[1 + {index}]"
        if isinstance(self.low, date):
            if self.step == "day":
                return f"({literal(self.low)} + CAST({index} AS integer))"
            return f"CAST({literal(self.low)} + {index} * interval '1 {self.step}' AS date)"
        return f"({self.low} + {index} * {self.step})"


def _kind(choices: Sequence[Value | Decimal | date | Typed]) -> str:
    """The type of them all: a text is compared with no day, and with no number.

    Whole numbers are no decimals: compared with a decimal, a column of them is read without its index, and a
    function of them is not found.
    """
    if isinstance(choices[0], Typed):
        return choices[0].type
    if any(isinstance(value, str) for value in choices):
        return "text"
    if isinstance(first := choices[0], datetime):
        return "timestamp with time zone" if first.tzinfo else "timestamp"
    if isinstance(first, date):
        return "date"
    whole = [abs(value) for value in choices if isinstance(value, int)]
    if len(whole) < len(choices) or max(whole) >= BIGINT_END:
        return "numeric"
    return "integer" if max(whole) < INTEGER_END else "bigint"


def domain(name: str, parameter: Parameter, levels: Mapping[str, Level], listed: Listed) -> Domain:
    """Raises DomainError where there is nothing in it. ``name``: of the parameter."""
    if parameter.range is None:
        choices = _choices(parameter, listed)
        if not choices:
            raise DomainError(f"parameter {name!r}: there is nothing to choose from")
        return Domain(len(choices), choices=choices, type=parameter.type or "")
    low, high = parameter.range
    if is_day(low):
        first, last = date.fromisoformat(str(low)), date.fromisoformat(str(high))
        step = str(parameter.step or "day")
        return Domain(_steps(first, last, step), first, step)
    ends = [_number(end, levels) for end in (low, high)]
    by = Decimal(str(parameter.step or 1))
    size = int((ends[1] - ends[0]) / by) + 1
    if size < 1:
        raise DomainError(f"parameter {name!r}: from {ends[0]} to {ends[1]} there is no number")
    if any(number != int(number) for number in (*ends, by)):
        return Domain(size, ends[0], by)
    return Domain(size, int(ends[0]), int(by))


def _choices(parameter: Parameter, listed: Listed) -> Sequence[Value | Decimal | date | Typed]:
    return parameter.choice or listed.get(id(parameter), ())


def draw(
    parameters: Mapping[str, Parameter], random: Random, levels: Mapping[str, Level], listed: Listed
) -> dict[str, Drawn]:
    """By name; those of which there are several are ``name_1``, ``name_2`` and so on."""
    found: dict[str, Drawn] = {}
    places: dict[str, int] = {}
    for name, parameter in parameters.items():
        if parameter.text is not None:
            found[name] = parameter.text.format_map({key: word(value) for key, value in found.items()})
        elif parameter.lookup is not None:
            ((of, table),) = parameter.lookup.items()
            found[name] = _plain(table[word(found[of])])
        else:
            known = domain(name, parameter, levels, listed)
            if parameter.count > 1:
                found |= _several(name, parameter, random, known)
            else:
                places[name] = places[parameter.row_of] if parameter.row_of else _place(parameter, random, known)
                found[name] = known.value(places[name])
    return found


def _place(parameter: Parameter, random: Random, of: Domain) -> int:
    if parameter.zipf is None:
        return random.randrange(of.size)
    rank = Zipf(of.size, parameter.zipf).rank(random.random())
    return int(sha256(str(rank).encode()).hexdigest()[:12], 16) % of.size if parameter.is_scattered else rank


def _several(name: str, parameter: Parameter, random: Random, of: Domain) -> dict[str, Drawn]:
    if parameter.count > of.size:
        raise DomainError(f"parameter {name!r}: {parameter.count} that differ cannot be drawn from {of.size}")
    chosen = random.sample(range(of.size), parameter.count)
    return {f"{name}_{n}": of.value(at) for n, at in enumerate(chosen, 1)}


def names_of(name: str, parameter: Parameter) -> list[str]:
    return [name] if parameter.count == 1 else [f"{name}_{n}" for n in range(1, parameter.count + 1)]


def literal(value: Drawn) -> str:
    if isinstance(value, Typed | date):
        return f"CAST({_bare(value)} AS {_kind([value])})"
    return _bare(value)


def _bare(value: Drawn) -> str:
    """Without its type."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    text = value.text if isinstance(value, Typed) else value.isoformat() if isinstance(value, date) else value
    return sql.Literal(text).as_string(None)


def composed_as(
    drawn: Mapping[str, Drawn], parameters: Mapping[str, Parameter], listed: Listed | None = None
) -> dict[str, sql.Composable]:
    """By name as each stands in a statement, as the type that its parameter says.

    ``listed``: then as clients send it, whose choices have the type of them all, a text among them.
    """
    types = {each: one.type for name, one in parameters.items() for each in names_of(name, one)}
    if listed is not None:
        for name, one in parameters.items():
            choices = _choices(one, listed)
            if choices and not one.type:
                types |= dict.fromkeys(names_of(name, one), _kind(choices))
    return {
        name: raw(f"CAST({_bare(value)} AS {types[name]})" if types.get(name) else literal(value))
        for name, value in drawn.items()
    }


# By pgbench.


@dataclass
class Script:
    """The lines that draw, what stands in the statement for each parameter, and what every client begins with.

    ``statements``: those among the lines; ``bounds``: of the variables that stand in them.
    """

    lines: list[str] = field(default_factory=list)
    sql: dict[str, str] = field(default_factory=dict)
    variables: dict[str, int] = field(default_factory=dict)
    bounds: dict[str, tuple[int, int]] = field(default_factory=dict)
    statements: tuple[str, ...] = ()


def script(parameters: Mapping[str, Parameter], levels: Mapping[str, Level], listed: Listed, seed: int) -> Script:
    """Variables of pgbench are called as the parameter, and two underscores with a letter: ``key__i`` is an index."""
    made = Script()
    for name, parameter in parameters.items():
        if parameter.text is not None:
            made.sql[name] = _as(parameter.type, _text_sql(parameter.text, made.sql))
        elif parameter.next_after is not None:
            made.variables[f"{name}__n"] = 0
            made.lines += [
                f"\\set {name}__n :{name}__n + 1",
                f"\\set {name} {quantity(parameter.next_after, levels)} + 1 + :first_client + :client_id "
                f"+ :clients * (:{name}__n - 1)",
            ]
            made.sql[name] = f":{name}"
            made.bounds[name] = (quantity(parameter.next_after, levels) + 1,) * 2
        elif parameter.row_of is not None:
            of = domain(name, parameter, levels, listed)
            _check_choices(name, of)
            made.sql[name] = of.sql(f":{parameter.row_of}__i")
        elif parameter.newest_of is not None:
            _newest(made, name, parameter, parameters, levels)
        else:
            _index(made, name, parameter, domain(name, parameter, levels, listed), seed)
    return made


def _newest(
    made: Script, name: str, parameter: Parameter, parameters: Mapping[str, Parameter], levels: Mapping[str, Level]
) -> None:
    of = str(parameter.newest_of)
    last = quantity(parameters[of].next_after or 1, levels)
    made.variables[f"{of}__n"] = 0
    made.lines += [
        *_rank(name, Zipf(last, parameter.zipf or 0.99)),
        f"\\set {name} greatest(1, {last} + :clients * :{of}__n - :{name}__i)",
    ]
    made.sql[name] = f":{name}"
    made.bounds[name] = (last, last)


def _rank(name: str, zipf: Zipf) -> list[str]:
    return [
        f"\\set {name}__u random(0, {RESOLUTION - 1}) / {RESOLUTION}.0",
        f"\\set {name}__i {zipf.pgbench(f':{name}__u')}",
    ]


def _check_choices(name: str, of: Domain) -> None:
    if len(of.choices) > CHOICES_OF_CLIENTS_MAX:
        raise DomainError(
            f"parameter {name!r}: {len(of.choices)} values cannot be drawn by clients, as all stand in the statement; "
            f"{CHOICES_OF_CLIENTS_MAX} are allowed: take fewer, or join with a table of them"
        )


def _index(made: Script, name: str, parameter: Parameter, of: Domain, seed: int) -> None:
    _check_choices(name, of)
    if parameter.zipf is not None:
        made.lines += _rank(name, Zipf(of.size, parameter.zipf))
        if parameter.is_scattered:
            made.lines.append(f"\\set {name}__i permute(:{name}__i, {of.size}, {seed})")
    else:
        made.lines.append(f"\\set {name}__i random(0, {of.size - 1})")
    for n, each in enumerate(names_of(name, parameter)):
        index = f"{name}__i" if parameter.count == 1 else f"{each}__i"
        if parameter.count > 1:
            made.lines.append(f"\\set {index} permute((:{name}__i + {n}) % {of.size}, {of.size}, {seed})")
        if isinstance(of.low, int) and isinstance(of.step, int) and not of.choices:
            made.lines.append(f"\\set {each} {of.low} + {of.step} * :{index}")
            made.bounds[each] = (of.low, of.low + of.step * (of.size - 1))
            made.sql[each] = _as(parameter.type, f":{each}")
        else:
            made.bounds[index] = (0, of.size - 1)
            made.sql[each] = of.sql(f":{index}") if of.choices else _as(parameter.type, of.sql(f":{index}"))


def _as(kind: str | None, text: str) -> str:
    return f"CAST({text} AS {kind})" if kind else text


def _text_sql(text: str, known: Mapping[str, str]) -> str:
    parts = []
    for words, name, _, _ in Formatter().parse(text):
        parts += [literal(words)] if words else []
        parts += [f"CAST({known[name]} AS text)"] if name else []
    return f"({' || '.join(parts)})"


def _number(end: Value, levels: Mapping[str, Level]) -> Decimal:
    return Decimal(quantity(end, levels)) if isinstance(end, str) else Decimal(str(end))


def _plain(value: Value) -> Drawn:
    return Decimal(str(value)) if isinstance(value, float) else value


def word(value: object) -> str:
    """A value as a file or another parameter names it."""
    if isinstance(value, Typed):
        return value.text
    return value.isoformat() if isinstance(value, date) else str(value)


def _steps(first: date, last: date, step: str) -> int:
    if step == "day":
        return (last - first).days + 1
    months = (last.year - first.year) * 12 + last.month - first.month
    return (months if step == "month" else months // 12) + 1


def _later(day: date, count: int, step: str) -> date:
    """As the server adds months: the day stays, or is the month's last."""
    if step == "day":
        return day + timedelta(days=count)
    months = day.month - 1 + count * (12 if step == "year" else 1)
    first = date(day.year + months // 12, months % 12 + 1, 1)
    last = (date(first.year + first.month // 12, first.month % 12 + 1, 1) - timedelta(days=1)).day
    return first.replace(day=min(day.day, last))
