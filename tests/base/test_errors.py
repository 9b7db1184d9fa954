"""Suggestions for a misspelt name."""

from __future__ import annotations

from clusterbench.base.errors import ArchiveError, ClusterbenchError, SpecError, suggest


def test_close_name_is_suggested_and_all_are_listed() -> None:
    assert suggest("latop", ["smoke", "laptop", "full"]) == "; did you mean 'laptop'? Allowed: full, laptop, smoke"


def test_nothing_is_suggested_where_no_name_is_close() -> None:
    assert suggest("xyz", ["smoke", "laptop"]) == "; Allowed: laptop, smoke"


def test_only_the_closest_name_is_suggested() -> None:
    assert suggest("lab_db3", ["lab_db1x", "lab_db33"]).startswith("; did you mean 'lab_db33'?")


def test_no_allowed_name_is_said_so() -> None:
    assert suggest("anything", []) == "; nothing is allowed here"


def test_spec_error_holds_every_problem_and_prints_one_a_line() -> None:
    error = SpecError(["a.yaml:1: first", "a.yaml:2: second"])
    assert error.problems == ["a.yaml:1: first", "a.yaml:2: second"]
    assert str(error) == "a.yaml:1: first\na.yaml:2: second"


def test_errors_for_people_have_one_base() -> None:
    assert issubclass(SpecError, ClusterbenchError)
    assert issubclass(ArchiveError, ClusterbenchError)
