"""Stacks that were sampled: sums, shares, and how two differ."""

from __future__ import annotations

import pytest

from clusterbench.base.profiles import REST, Profile, differing, folded, moved, shortened, unfolded

STACKS = {"postgres;main;scan": 60, "postgres;main;scan;read": 20, "postgres;main;sort": 15, "java;[perf map]": 5}


def test_what_is_folded_is_read_back() -> None:
    """Names may hold spaces, as a process's may."""
    profile = Profile({**STACKS, "Web Content;main": 3})
    assert unfolded(folded(profile)) == profile
    with pytest.raises(ValueError, match="invalid literal"):
        unfolded(["postgres;main"])


def test_share_of_a_function_is_of_itself_without_what_it_calls() -> None:
    assert list(Profile(STACKS).own_shares().items()) == [
        ("postgres: scan", 0.6),
        ("postgres: read", 0.2),
        ("postgres: sort", 0.15),
        ("java: [perf map]", 0.05),
    ]


def test_function_of_several_stacks_is_one_of_its_process() -> None:
    shares = Profile({"a;x;lock": 1, "a;y;lock": 2, "b;lock": 1}).own_shares()
    assert shares == {"a: lock": 0.75, "b: lock": 0.25}


def test_share_with_what_it_calls_counts_a_function_once_a_stack() -> None:
    assert Profile({"a;walk;walk;walk;read": 3, "a;sort": 1}).shares() == {
        "a: walk": 0.75,
        "a: read": 0.75,
        "a: sort": 0.25,
    }


def test_rare_frames_become_one_and_the_picture_is_as_wide() -> None:
    short = shortened(STACKS, 0.18)
    assert short == {
        "postgres;main;scan": "postgres;main;scan",
        "postgres;main;scan;read": "postgres;main;scan;read",
        "postgres;main;sort": f"postgres;main;{REST}",
        "java;[perf map]": REST,
    }
    assert set(shortened(STACKS, 0.0)) == set(shortened(STACKS, 0.0).values())


def test_two_profiles_are_compared_as_if_of_equal_length() -> None:
    """Twice as long, and otherwise the same: nothing differs."""
    twice = Profile({stack: 2 * times for stack, times in STACKS.items()})
    assert all(one == other for one, other in differing(Profile(STACKS), twice).values())
    assert {other - one for _, one, other in moved(Profile(STACKS), twice)} == {0.0}


def test_what_moved_most_is_first_also_what_is_gone_or_new() -> None:
    after = Profile({"postgres;main;scan": 40, "postgres;main;scan;read": 20, "postgres;main;lock": 40})
    rows = moved(Profile(STACKS), after)
    assert [name for name, _, _ in rows[:3]] == ["postgres: lock", "postgres: scan", "postgres: sort"]
    assert rows[0][1:] == (0.0, 0.4) and rows[1][1:] == (pytest.approx(0.8), pytest.approx(0.6))
    assert ("postgres: main", 0.95, 1.0) in rows
    assert differing(Profile(STACKS), after)["postgres;main;sort"] == (15.0, 0.0)
