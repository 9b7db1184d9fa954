"""Substitution parameters: the generator's own text with the qualification values, others for every stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from string import Template

import pytest

from clusterbench.base import sql
from clusterbench.base.errors import SpecError
from clusterbench.base.paths import project_root
from clusterbench.workloads.from_duckdb.programs import extension_file
from clusterbench.workloads.from_duckdb.reference import answer
from clusterbench.workloads.tpcds import parameter_file, parameters, queries

ALL = range(1, 100)
DRAWN = sorted(set(ALL) - set(parameters.fixed()))
SEED = 2015
FILE = project_root() / "include" / "sql" / "tpcds" / "parameters.yaml"
DECLARED = parameter_file.read(FILE)


def text(number: int, stream: int) -> str:
    return queries.text(number, parameters.values(number, stream, SEED), "duckdb")


def markers(number: int) -> list[str]:
    query = (project_root() / "include" / "sql" / "tpcds" / "queries" / f"q{number:02}.sql").read_text()
    return list(dict.fromkeys(Template(query).get_identifiers()))


@pytest.fixture(scope="module")
def duck() -> Iterator:
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.execute(f"LOAD '{extension_file('tpcds')}'")
        yield connection


def tokens(query: str) -> list[str]:
    return re.findall(r"'[^']*'|\w+|[^\w\s]", query.strip().removesuffix(";"))


def test_qualification_values_give_the_generators_own_text(duck) -> None:
    for number, generated in duck.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall():
        made = sql.statement("tpcds/queries", f"q{number:02}", **parameters.qualification(number))
        assert tokens(made) == tokens(generated), f"query {number}"


@pytest.mark.parametrize("number", ALL)
def test_every_marker_is_a_parameter_and_none_is_left_over(number: int) -> None:
    declared = DECLARED.queries.get(f"q{number:02}", {})
    names = {name for key, parameter in declared.items() for name in parameter.names(key)}
    for_others = {name for parameter in declared.values() for name in parameter.uses()}
    assert names >= set(markers(number))
    assert names - set(markers(number)) <= for_others
    assert set(parameters.values(number, 1, SEED)) == set(parameters.qualification(number)) == names


def test_a_query_is_fixed_only_where_it_has_no_marker() -> None:
    assert {number for number in ALL if not markers(number)} == set(parameters.fixed())


# What is drawn.


@pytest.mark.parametrize("number", DRAWN)
def test_drawn_values_lie_in_their_domains(number: int) -> None:
    for stream in range(1, 30):
        drawn = parameters.values(number, stream, SEED)
        for key, parameter in DECLARED.queries[f"q{number:02}"].items():
            found = [drawn[name] for name in parameter.names(key)]
            if parameter.range or parameter.choice:
                assert all(value in DECLARED.domain(parameter) for value in found)
                assert len(set(found)) == len(found), "values of one list differ"
            if parameter.class_of:
                pairs = zip(parameter.uses(), found, strict=True)
                assert all(value in DECLARED.classes[drawn[category]] for category, value in pairs)


def test_days_lie_in_the_year_drawn_and_ends_follow() -> None:
    for stream in range(1, 30):
        drawn = parameters.values(21, stream, SEED)
        start, middle, end = (date.fromisoformat(drawn[name]) for name in ("date_start", "date", "date_end"))
        assert date(drawn["year"], 1, 31) <= middle <= date(drawn["year"], 7, 1)
        assert (middle - start, end - middle) == (timedelta(days=30), timedelta(days=30))


def test_a_text_is_made_of_the_values_drawn() -> None:
    shipped = parameters.values(66, 3, SEED)
    assert shipped["carriers"] == f"{shipped['carrier_1']},{shipped['carrier_2']}"
    first_day = parameters.values(16, 3, SEED)
    assert first_day["date"] == f"{first_day['year']}-{first_day['month']:02}-01"


def test_streams_do_not_repeat_each_other() -> None:
    """Some domains are four years: eight streams cannot all differ there, but neighbours do."""
    for one, other in pairwise(range(9)):
        same = [number for number in DRAWN if text(number, one) == text(number, other)]
        assert len(same) <= 3, f"streams {one} and {other}: {same}"
    unlike_all = [number for number in DRAWN if len({text(number, stream) for stream in range(9)}) == 9]
    assert len(unlike_all) >= 75


def test_streams_share_a_small_domain_evenly() -> None:
    years = [parameters.values(2, stream, SEED)["year"] for stream in range(8)]
    assert {year: years.count(year) for year in years} == dict.fromkeys(range(1998, 2002), 2)


def test_values_are_the_same_each_time_and_other_with_another_seed() -> None:
    first = parameters.values(3, 5, SEED)
    parameters._values.cache_clear()
    assert parameters.values(3, 5, SEED) == first
    assert parameters.values(3, 5, SEED + 1) != first


def test_stream_0_and_fixed_queries_have_the_qualification_values() -> None:
    assert parameters.values(1, 0, SEED) == parameters.qualification(1) == {"year": 2000}
    assert parameters.values(76, 4, SEED) == parameters.qualification(76) == {}
    assert "names of columns" in parameters.fixed()[76]


def test_a_caller_cannot_change_what_is_drawn() -> None:
    parameters.values(1, 1, SEED)["year"] = 1900
    assert parameters.values(1, 1, SEED)["year"] != 1900


def test_order_is_a_permutation_of_its_own_for_each_stream() -> None:
    orders = [parameters.order(ALL, stream, SEED) for stream in range(100)]
    assert all(sorted(order) == list(ALL) for order in orders)
    assert len({tuple(order) for order in orders}) == 100
    assert parameters.order(ALL, 3, SEED) == orders[3] != parameters.order(ALL, 3, SEED + 1)
    assert parameters.order([9, 5, 7], 1, SEED) == parameters.order([5, 7, 9], 1, SEED)


def test_drawn_queries_run_and_most_answers_hold_something(duck) -> None:
    """Where the few rows of scale factor 0.01 allow it. Queries 12 and 20 divide by nothing sold in streams 3 and 4."""
    duck.execute("CALL dsdgen(sf = 0.01)")
    for stream in (3, 4):
        answers = {number: answer(duck, text(number, stream)) for number in DRAWN}
        cells = {number: {cell for row in rows for cell in row} for number, rows in answers.items()}
        assert not [number for number in DRAWN if cells[number] & {"nan", "inf", "-inf"}], f"stream {stream}"
        empty = [number for number in DRAWN if not cells[number] - {None, "0"}]
        assert len(empty) <= 45, f"stream {stream}: {empty}"


# The file.


def problem_with(changed: str, instead: str, tmp_path: Path) -> str:
    declared = FILE.read_text()
    assert changed in declared
    broken = tmp_path / "parameters.yaml"
    broken.write_text(declared.replace(changed, instead, 1))
    with pytest.raises(SpecError) as error:
        parameter_file.read(broken)
    return str(error.value)


Q01 = "year: {is: 2000, range: [1998, 2002]}"


@pytest.mark.parametrize(
    ("changed", "instead", "said"),
    [
        (Q01, "year: {is: 2000, rnage: [1998, 2002]}", "queries.q01.year.rnage: unknown key; did you mean 'range'?"),
        (Q01, "year: {is: 2000}", "queries.q01.year: must say exactly one of range, choice, class_of, day, after"),
        (Q01, "year: {is: 2000, range: [1, 2], choice: [1]}", "queries.q01.year: must say exactly one of"),
        (Q01, "year: {is: 2000, range: [2002, 1998]}", "queries.q01.year.range: [2002, 1998] holds no number"),
        (Q01, 'year: {is: "2000", range: [1998, 2002]}', "queries.q01.year: `is` and the domain must both be numbers"),
        (Q01, "year: {is: [1, 2, 3], range: [1, 2]}", "queries.q01.year: 3 different values cannot be drawn from 2"),
        (Q01, "year: {is: 1, choice: [1, 1]}", "queries.q01.year: a value stands twice in its domain"),
        (Q01, "state: {is: TN, choice: stats}", "queries.q01.state: there is no list 'stats'; did you mean 'states'?"),
        (Q01, 'end: {is: "2000-01-01", after: {date: 3}}', "queries.q01.end: is made of 'date', which does"),
        (Q01, 'q: {is: x, text: "{year.__class__}"}', "queries.q01.q: is made of 'year.__class__', which does not"),
        (Q01, "class: {is: a, class_of: category}", "queries.q01.class: is made of 'category', which does not stand"),
        ("  q01:\n", "  q100:\n", "queries.q100: there is no such query; they are q01 to q99"),
        (f"  q01:\n    {Q01}\n", "", "queries: q01 stands in neither of `queries` and `fixed`; it must stand in one"),
        ("fixed:\n", "fixed:\n  q01: too slow\n", "queries: q01 stands in both of `queries` and `fixed`"),
        ('from: "08-01"', 'from: "8-1"', "queries.q05.date.day.from: must be a month and a day as"),
    ],
)
def test_a_wrong_file_is_refused_with_the_query_named(changed: str, instead: str, said: str, tmp_path: Path) -> None:
    problem = problem_with(changed, instead, tmp_path)
    assert f"parameters.yaml:{problem.split(':', 2)[1]}: {said}" in problem
