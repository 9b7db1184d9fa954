"""What executions draw: by Python for streams, and by a real pgbench's expressions for clients."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from clusterbench.workloads.declared.model import Parameter, quantity
from clusterbench.workloads.declared.parameters import DomainError, Typed, composed_as, domain, draw, literal, script
from clusterbench.workloads.declared.zipf import SUMMED, Zipf

LEVELS = {"rows": 1000, "scale_factor": 0.5}


def parameter(**said: Any) -> Parameter:
    return Parameter.model_validate(said)


def drawn(times: int = 400, **parameters: Any) -> list[dict[str, Any]]:
    said = {name: parameter(**one) for name, one in parameters.items()}
    return [draw(said, Random(f"seed {n}"), LEVELS, {}) for n in range(times)]


def test_quantities_grow_with_factors() -> None:
    assert quantity(7, LEVELS) == 7 and quantity("$rows", LEVELS) == 1000
    assert quantity("6000000 * $scale_factor", LEVELS) == 3_000_000


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ({"range": [1, 3]}, {1, 2, 3}),
        ({"range": [998, "$rows"]}, {998, 999, 1000}),
        ({"range": [10, 20], "step": 5}, {10, 15, 20}),
        ({"range": [0.02, 0.04], "step": 0.01}, {Decimal("0.02"), Decimal("0.03"), Decimal("0.04")}),
        ({"range": ["2024-02-28", "2024-03-01"]}, {date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1)}),
        (
            {"range": ["2024-01-31", "2024-03-31"], "step": "month"},
            {date(2024, 1, 31), date(2024, 2, 29), date(2024, 3, 31)},
        ),
        ({"range": ["2023-01-01", "2024-01-01"], "step": "year"}, {date(2023, 1, 1), date(2024, 1, 1)}),
        ({"choice": ["a", "b"]}, {"a", "b"}),
    ],
)  # fmt: skip
def test_all_of_a_domain_is_drawn_and_nothing_else(said: dict[str, Any], values: set[Any]) -> None:
    assert {one["p"] for one in drawn(p=said)} == values


def test_a_stream_draws_the_same_again() -> None:
    assert drawn(p={"range": [1, 10**9]}) == drawn(p={"range": [1, 10**9]})


def test_several_differ_and_texts_and_lookups_follow() -> None:
    for one in drawn(
        20,
        n={"choice": ["PERU", "CHINA", "IRAN"], "count": 2},
        region={"lookup": {"n_1": {"PERU": "AMERICA", "CHINA": "ASIA", "IRAN": "MIDDLE EAST"}}},
        words={"text": "%{n_2}%"},
    ):
        assert one["n_1"] != one["n_2"] and one["words"] == f"%{one['n_2']}%"
        assert one["region"] == {"PERU": "AMERICA", "CHINA": "ASIA", "IRAN": "MIDDLE EAST"}[one["n_1"]]


def test_what_is_of_the_same_row_is_drawn_from_the_same_place() -> None:
    said: dict[str, Any] = {
        "low": {"choice": [1, 20, 20, 300]},
        "high": {"row_of": "low", "choice": [5, 21, 22, 400]},
    }
    assert {(one["low"], one["high"]) for one in drawn(**said)} == {(1, 5), (20, 21), (20, 22), (300, 400)}
    made = script({name: parameter(**one) for name, one in said.items()}, LEVELS, {}, 1)
    assert made.lines == ["\\set low__i random(0, 3)"], "there is one place, for both"
    assert made.sql["high"] == "(CAST(ARRAY[5, 21, 22, 400] AS integer[]))[1 + :low__i]"
    first, second = parameter(query="values.sql"), parameter(row_of="key", column=2)
    listed = {id(first): [7, 8], id(second): ["x", "y"]}
    found = draw({"key": first, "name": second}, Random("1"), LEVELS, listed)
    assert (found["key"], found["name"]) in ((7, "x"), (8, "y"))
    for refused in ({"row_of": "low", "range": [1, 2]}, {"column": 2}, {"row_of": "a", "choice": [1], "count": 2}):
        with pytest.raises(ValidationError, match=r"row_of: names a parameter|several that differ"):
            parameter(**refused)


def test_an_empty_domain_is_an_error() -> None:
    for said in ({"range": [5, "$rows"]}, {"query": "values.sql"}):
        with pytest.raises(DomainError, match="parameter 'p': "):
            domain("p", parameter(**said), {"rows": 1}, {})


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({}, "must say exactly one of range, choice"),
        ({"range": [1, 2], "choice": [1]}, "found range and choice"),
        ({"range": [3, 1]}, "holds no number"),
        ({"range": ["2024-13-01", "2024-12-01"]}, "ends must be numbers"),
        ({"range": [1, "2024-01-01"]}, "both ends must be days"),
        ({"choice": [1], "zipf": 0.99}, "zipf: is of a 'range'"),
        ({"choice": [1], "step": 2}, "step: is of a 'range'"),
        ({"range": [1, 2], "scattered": True}, "scattered: is of a 'range' with 'zipf'"),
        ({"text": "a", "count": 2}, "count: several"),
    ],
)
def test_what_does_not_fit_together_is_told(said: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parameter(**said)


@pytest.mark.parametrize(
    ("value", "text"),
    [(7, "7"), ("it's", "'it''s'"), (Decimal("0.10"), "0.10"), (date(2024, 1, 2), "CAST('2024-01-02' AS date)")],
)
def test_values_are_quoted(value: Any, text: str) -> None:
    assert literal(value) == text


@pytest.mark.parametrize(
    ("listed", "text"),
    [
        ([date(2024, 1, 1)], "(CAST(ARRAY['2024-01-01'] AS date[]))[1 + :p__i]"),
        ([5, 7], "(CAST(ARRAY[5, 7] AS integer[]))[1 + :p__i]"),
        ([5, 2**31], f"(CAST(ARRAY[5, {2**31}] AS bigint[]))[1 + :p__i]"),
        ([5, 2**63], f"(CAST(ARRAY[5, {2**63}] AS numeric[]))[1 + :p__i]"),
        ([Typed("it's", "shop.state")], "(CAST(ARRAY['it''s'] AS shop.state[]))[1 + :p__i]"),
        ([Decimal("1.50"), Decimal(2)], "(CAST(ARRAY[1.50, 2] AS numeric[]))[1 + :p__i]"),
        ([datetime(2024, 1, 1)], "(CAST(ARRAY['2024-01-01T00:00:00'] AS timestamp[]))[1 + :p__i]"),
        (
            [datetime(2024, 1, 1, tzinfo=UTC)],
            "(CAST(ARRAY['2024-01-01T00:00:00+00:00'] AS timestamp with time zone[]))[1 + :p__i]",
        ),
    ],
)
def test_what_a_query_answers_keeps_its_type_with_clients(listed: list[Decimal | date], text: str) -> None:
    drawn = parameter(query="some.sql")
    assert script({"p": drawn}, LEVELS, {id(drawn): listed}, seed=5).sql["p"] == text


def test_a_type_that_is_said_is_the_type_in_statements() -> None:
    said = {"p": parameter(choice=["a", "b"], type="uuid"), "n": parameter(range=[1, 9], type="shop.number")}
    made = script(said, LEVELS, {}, seed=5)
    assert made.sql == {"p": "(CAST(ARRAY['a', 'b'] AS uuid[]))[1 + :p__i]", "n": "CAST(:n AS shop.number)"}
    stands = composed_as({"p": "a", "n": 3}, said)
    assert {name: text.as_string(None) for name, text in stands.items()} == {
        "p": "CAST('a' AS uuid)",
        "n": "CAST(3 AS shop.number)",
    }
    assert composed_as({"p": Typed("x", "uuid")}, {"p": parameter(query="q.sql")})["p"].as_string(None) == (
        "CAST('x' AS uuid)"
    )
    arrays = {"p": parameter(choice=["{a,b}", "{}"], type="text[]")}
    assert script(arrays, LEVELS, {}, seed=5).sql["p"] == (
        "CAST((CAST(ARRAY['{a,b}', '{}'] AS text[]))[1 + :p__i] AS text[])"
    )
    plain = {"p": parameter(choice=["x", "y"])}
    assert composed_as({"p": "x"}, plain, {})["p"].as_string(None) == "CAST('x' AS text)", "as clients send it"
    for hostile in ("uuid; DROP", "a'b", "x\\y", "a)"):
        with pytest.raises(ValidationError):
            parameter(choice=[1], type=hostile)


def test_pgbench_s_lines_draw_count_on_and_choose() -> None:
    said = {
        "key": parameter(range=[1, "$rows"]),
        "new": parameter(next_after="$rows"),
        "newest": parameter(newest_of="new"),
        "day": parameter(range=["2024-01-01", "2024-12-01"], step="month"),
        "word": parameter(choice=["it's", "b"]),
        "like": parameter(text="%{word}%"),
        "two": parameter(range=[1, 9], count=2),
    }
    made = script(said, LEVELS, {}, seed=5)
    assert made.sql["key"] == ":key" and made.sql["new"] == ":new"
    assert made.variables == {"new__n": 0}
    assert "\\set key__i random(0, 999)" in made.lines and "\\set key 1 + 1 * :key__i" in made.lines
    assert "\\set new 1000 + 1 + :first_client + :client_id + :clients * (:new__n - 1)" in made.lines
    assert made.sql["word"] == "(CAST(ARRAY['it''s', 'b'] AS text[]))[1 + :word__i]"
    assert made.sql["like"] == f"('%' || CAST({made.sql['word']} AS text) || '%')"
    assert made.sql["day"] == "CAST(CAST('2024-01-01' AS date) + :day__i * interval '1 month' AS date)"
    assert "\\set two_2__i permute((:two__i + 1) % 9, 9, 5)" in made.lines
    with pytest.raises(DomainError, match="1001 values cannot be drawn by clients"):
        script({"p": parameter(choice=list(range(1001)))}, LEVELS, {}, seed=5)


@pytest.mark.parametrize(("count", "theta"), [(1000, 0.99), (50, 0.5), (10_000_000, 0.99)])
def test_zipf_prefers_as_its_law_says(count: int, theta: float) -> None:
    """The first two are exact; the others are Gray's approximation."""
    zipf, random = Zipf(count, theta), Random(7)
    ranks = Counter(zipf.rank(random.random()) for _ in range(100_000))
    assert min(ranks) == 0 and max(ranks) < count
    for rank in (0, 1):
        share = (rank + 1) ** -theta / zipf.total
        assert ranks[rank] / 100_000 == pytest.approx(share, abs=4 * math.sqrt(share / 100_000))
    middle = sum(ranks[rank] for rank in range(count // 2, count // 2 + 10))
    assert sum(ranks[rank] for rank in range(10)) > 2 * middle


def test_the_sum_of_many_terms_is_that_of_all() -> None:
    count = SUMMED + 50_000
    assert Zipf(count, 0.99).total == pytest.approx(sum(n**-0.99 for n in range(1, count + 1)), rel=1e-9)


def test_few_ranks_are_all_drawn() -> None:
    assert {Zipf(1, 0.99).rank(n / 100) for n in range(100)} == {0}
    assert {Zipf(2, 0.99).rank(n / 100) for n in range(100)} == {0, 1}
