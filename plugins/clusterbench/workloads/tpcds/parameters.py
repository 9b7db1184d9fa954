"""Substitution parameters: what makes one stream's queries differ from another's (TPC-DS specification 2.4, 7.4).

Streams that ask for the same rows would warm each other's pages, and a hundred of them would measure memory. A
stream's values depend on the seed, the query and the stream only: they are the same at every concurrency level and in
every repetition. Stream 0 has the qualification values of the specification's appendix B.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from functools import cache
from random import Random

from clusterbench.base.paths import own_or_built_in
from clusterbench.workloads.tpcds.parameter_file import Day, Declared, Parameter, Value, read

TRIES = 20
"""Draws before a stream takes the values that the fewest earlier ones have: some domains are four years, no more."""


def values(number: int, stream: int, seed: int) -> dict[str, Value]:
    """By name, for one query of one stream; unlike those of every earlier stream as long as the domain lasts."""
    return dict(_values(number, stream, seed))


def qualification(number: int) -> dict[str, Value]:
    """With these the text is the generator's own."""
    found: dict[str, Value] = {}
    for name, parameter in _parameters(number).items():
        given = parameter.given
        found.update(zip(parameter.names(name), given if isinstance(given, list) else [given], strict=True))
    return found


def fixed() -> dict[int, str]:
    """The queries of which nothing is drawn, and why."""
    return {int(query[1:]): reason for query, reason in _declared().fixed.items()}


def order(queries: Iterable[int], stream: int, seed: int) -> list[int]:
    """The order in which a stream runs ``queries``: a permutation of its own (specification 7.4.2)."""
    permuted = sorted(queries)
    Random(f"{seed} order {stream}").shuffle(permuted)  # noqa: S311  not a secret: to be repeated
    return permuted


@cache
def _declared() -> Declared:
    return read(own_or_built_in("include/sql/tpcds/parameters.yaml"))


def _parameters(number: int) -> Mapping[str, Parameter]:
    return _declared().queries.get(f"q{number:02}", {})


@cache
def _values(number: int, stream: int, seed: int) -> Mapping[str, Value]:
    if stream == 0 or not _parameters(number):
        return qualification(number)
    earlier = [_values(number, before, seed) for before in range(stream)]
    random = Random(f"{seed} query {number} stream {stream}")  # noqa: S311  as above
    tried: list[Mapping[str, Value]] = []
    for _ in range(TRIES):
        tried.append(_draw(number, random))
        if tried[-1] not in earlier:
            return tried[-1]
    return min(tried, key=earlier.count)


def _draw(number: int, random: Random) -> Mapping[str, Value]:
    drawn: dict[str, Value] = {}
    for name, parameter in _parameters(number).items():
        names = parameter.names(name)
        drawn.update(zip(names, _drawn(parameter, len(names), drawn, random), strict=True))
    return drawn


def _drawn(parameter: Parameter, count: int, drawn: Mapping[str, Value], random: Random) -> list[Value]:
    if parameter.text is not None:
        return [parameter.text.format_map(drawn)]
    if parameter.day:
        return [_day(parameter.day, drawn, random).isoformat()]
    if parameter.after:
        return [
            (date.fromisoformat(str(drawn[start])) + timedelta(days=days)).isoformat()
            for start, days in parameter.after.items()
        ]
    if parameter.class_of:
        classes = _declared().classes
        return [random.choice(classes[str(drawn[category])]) for category in parameter.uses()]
    return random.sample(_declared().domain(parameter), count)


def _day(day: Day, drawn: Mapping[str, Value], random: Random) -> date:
    first, last = (date.fromisoformat(f"{drawn[day.of]}-{month_day}") for month_day in (day.since, day.until))
    return first + timedelta(days=random.randint(0, (last - first).days))
