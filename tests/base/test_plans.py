"""Plans of statements: which are the same, and where two first differ."""

from __future__ import annotations

import pytest

from clusterbench.base.plans import PlanChange, changes, fingerprint, first_difference, normalised

INDEX = """Index Scan using t_key on t  (cost=0.42..8.44 rows=1 width=478)
  Index Cond: (key = 57)"""
SEQ = """Gather  (cost=1000.00..15441.10 rows=1 width=478)
  Workers Planned: 2
  ->  Parallel Seq Scan on t  (cost=0.00..14441.00 rows=1 width=478)
        Filter: (key = 57)"""
GREENPLUM = """ Gather Motion 4:1  (slice1; segments: 4)  (cost=0.00..431.00 rows=1 width=8)
   ->  Hash Join  (cost=0.00..431.00 rows=1 width=8)
         Hash Cond: (a.k = b.k)
         Filter: ((d >= '2010-01-01'::date) AND (w ~~ 'it''s 5%'::text))
 Optimizer: Pivotal Optimizer (GPORCA)"""


@pytest.mark.parametrize(
    "other",
    [
        INDEX.replace("rows=1", "rows=5000"),
        INDEX.replace("0.42..8.44", "1.00..9.99"),
        INDEX.replace("57", "4711"),
        INDEX + "\n",
    ],
)
def test_estimates_and_parameters_make_no_other_plan(other: str) -> None:
    assert fingerprint(other) == fingerprint(INDEX)


@pytest.mark.parametrize(
    "other",
    [
        INDEX.replace("t_key", "t_pkey"),
        INDEX.replace("key = 57", "other = 57"),
        SEQ,
    ],
)
def test_another_index_condition_or_node_makes_another_plan(other: str) -> None:
    assert fingerprint(other) != fingerprint(INDEX)


def test_what_is_of_the_plan_itself_counts_though_it_is_a_number() -> None:
    for one, other in (("Workers Planned: 2", "Workers Planned: 4"), ("segments: 4", "segments: 1"), ("4:1", "4:4")):
        for plan in (SEQ, GREENPLUM):
            assert one not in plan or fingerprint(plan) != fingerprint(plan.replace(one, other))
    assert fingerprint(GREENPLUM) != fingerprint(GREENPLUM.replace("Pivotal Optimizer (GPORCA)", "Postgres optimizer"))


def test_values_of_conditions_are_left_out_and_names_with_digits_are_not() -> None:
    assert normalised(GREENPLUM)[3] == "         Filter: ((d >= ?::date) AND (w ~~ ?::text))"
    plan = "  Filter: (t_1_prt_2.x > 3.5 AND $0 = q2)"
    assert normalised(plan) == ["  Filter: (t_1_prt_2.x > ? AND $0 = q2)"]


def test_names_of_a_session_are_no_difference() -> None:
    assert fingerprint("Seq Scan on pg_temp_3.x") == fingerprint("Seq Scan on pg_temp_17.x")


def test_the_first_lines_that_differ_are_told_without_estimates() -> None:
    assert first_difference(INDEX, SEQ) == ("Index Scan using t_key on t", "Gather")
    longer = SEQ + "\nJIT:\n  Functions: 4"
    assert first_difference(SEQ, longer) == ("", "JIT:")
    assert first_difference(SEQ, SEQ.replace("rows=1 ", "rows=9 ")) == ("", "")


def test_only_statements_of_both_sides_change() -> None:
    texts = {fingerprint(plan): plan for plan in (INDEX, SEQ)}
    before = {"query 1": fingerprint(INDEX), "query 2": fingerprint(INDEX), "query 3": fingerprint(SEQ)}
    after = {"query 1": fingerprint(SEQ), "query 2": fingerprint(INDEX), "query 4": fingerprint(SEQ)}
    (found,) = changes(before, after, texts)
    assert found == PlanChange("query 1", "Index Scan using t_key on t", "Gather")
    assert str(found) == "the plan of query 1 changed: Index Scan using t_key on t -> Gather"
    assert str(PlanChange("query 1", "", "JIT:")) == (
        "the plan of query 1 changed: it has new lines at its end, the first is 'JIT:'"
    )
    assert str(PlanChange("query 1", "JIT:", "")) == (
        "the plan of query 1 changed: it has no longer its last lines, the first was 'JIT:'"
    )
