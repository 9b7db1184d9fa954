"""Why a result changed: which evidence comes first, and in which words."""

from __future__ import annotations

from dataclasses import replace

from clusterbench.base.database_work import WorkChange
from clusterbench.base.plans import PlanChange
from clusterbench.report.week.why import why
from clusterbench.results.facts_compared import Difference
from clusterbench.results.statements import NONE_STANDS_OUT
from tests import weeks

PLAN = PlanChange("query 64", "Index Scan using item_key on item", "Seq Scan on item")
OTHERS = [replace(PLAN, statement=f"query {number}") for number in (4, 11)]
MADE_OF = "query 64 is 71 % of the difference"


def test_a_plan_that_changed_is_said_first_then_what_it_is_of_the_difference() -> None:
    one = replace(weeks.judged(facts=()), plans=(PLAN,), made_of=MADE_OF)
    assert why(one) == [
        "The plan of query 64 changed: Index Scan using item_key on item -> Seq Scan on item.",
        "Query 64 is 71 % of the difference.",
    ]


def test_a_setting_of_that_very_run_comes_before_the_plans_that_follow_from_it() -> None:
    one = replace(weeks.judged(facts=(weeks.BUFFERS,)), plans=(PLAN, *OTHERS))
    assert why(one) == [
        "Facts that changed there: shared_buffers (engine): 4GB \u2192 1GB.",
        "The plan of query 64 changed: Index Scan using item_key on item -> Seq Scan on item.",
        "The plan of query 4 changed: Index Scan using item_key on item -> Seq Scan on item.",
        "So did 1 other plan.",
    ]


def test_facts_that_hardly_decide_come_after_plans_and_locks() -> None:
    shell = Difference("version.bash", "client", "5.2.15", "5.2.21", False)
    work = (WorkChange("sessions_waiting_for_locks", 0.0, 2.0),)
    one = replace(weeks.judged(facts=(weeks.BUFFERS, shell)), plans=(PLAN,), work=work, made_of=MADE_OF)
    assert why(one) == [
        "Facts that changed there: shared_buffers (engine): 4GB \u2192 1GB.",
        "The plan of query 64 changed: Index Scan using item_key on item -> Seq Scan on item.",
        "Sessions that waited for locks: 0 before, 2.00 after.",
        "Facts that changed there: version.bash (client): 5.2.15 \u2192 5.2.21.",
        "Query 64 is 71 % of the difference.",
    ]


def test_facts_that_changed_a_run_apart_come_last() -> None:
    one = replace(weeks.judged(), plans=(PLAN,), facts_run_id=weeks.run_id(4))
    first, last = why(one)
    assert first.startswith("The plan of query 64 changed")
    assert last.startswith("Facts that changed near to it, in the run of ")


def test_what_the_database_did_otherwise_stands_after_statements() -> None:
    work = (WorkChange("temporary_mb", 0.0, 812.0),)
    one = replace(weeks.judged(facts=()), plans=(PLAN,), made_of=MADE_OF, work=work)
    assert why(one)[1:] == [
        "Query 64 is 71 % of the difference.",
        "Written to temporary files: 0\u202fMB before, 812\u202fMB after.",
    ]


def test_locks_that_were_waited_for_come_before_statements_with_who_held_them() -> None:
    waits = WorkChange("sessions_waiting_for_locks", 0.0, 3.1)
    work = (WorkChange("read_mb", 90.0, 30.0), waits)
    held_by = "locks held by nightly (LOCK TABLE item)"
    one = replace(weeks.judged(facts=()), made_of=MADE_OF, plans=(), work=work, held_by=held_by)
    first, second, *_ = why(one)
    assert first == "Sessions that waited for locks: 0 before, 3.10 after; locks held by nightly (LOCK TABLE item)."
    assert second == "Query 64 is 71 % of the difference."


def test_fewer_locks_that_are_waited_for_are_no_cause() -> None:
    work = (WorkChange("sessions_waiting_for_locks", 3.1, 0.0),)
    one = replace(weeks.judged(facts=()), made_of=MADE_OF, plans=(), work=work, held_by="locks held by nightly (-)")
    assert why(one)[:2] == [
        "Query 64 is 71 % of the difference.",
        "Sessions that waited for locks: 3.10 before, 0 after.",
    ]


def test_that_no_statement_stands_out_comes_after_what_the_database_did_otherwise() -> None:
    work = (WorkChange("sessions_waiting_for_io", 0.1, 2.0),)
    one = replace(weeks.judged(facts=()), made_of=f"{NONE_STANDS_OUT}: 5 of 5 take longer", plans=(), work=work)
    assert why(one)[:2] == [
        "Sessions that waited for disks: 0.100 before, 2.00 after.",
        "No statement stands out: 5 of 5 take longer.",
    ]


def test_nothing_is_said_to_be_nothing_also_where_a_statement_stands_out() -> None:
    one = replace(weeks.judged(facts=()), made_of=MADE_OF, plans=())
    assert why(one) == [
        "Query 64 is 71 % of the difference.",
        "Nothing that was recorded changed there: no fact of hosts or engine, no setting, and no plan.",
    ]
