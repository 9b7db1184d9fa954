"""What of other people's applications is noise."""

from __future__ import annotations

from clusterbench.engines.hadoop.managed.others import disturbed

BEFORE = {"others_mb_s": 1000, "yarn_mb_s": 100_000}


def test_little_is_noise() -> None:
    assert not disturbed(BEFORE, {"others_mb_s": 1200, "yarn_mb_s": 110_000}, 0.02)


def test_much_is_told_with_what_is_allowed() -> None:
    said = disturbed(BEFORE, {"others_mb_s": 4000, "yarn_mb_s": 110_000}, 0.02)
    assert "had 30 % of YARN's memory during the trial, and up to 2 % is noise" in said


def test_totals_that_fell_tell_nothing_which_is_said() -> None:
    assert "it is not known" in disturbed(BEFORE, {"others_mb_s": 10, "yarn_mb_s": 110_000}, 0.02)


def test_an_engine_that_counts_no_others_is_never_disturbed() -> None:
    assert not disturbed({}, {}, 0.02)
