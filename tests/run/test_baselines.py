"""What people choose from when asked about a new level, and what their choice means."""

from __future__ import annotations

import pytest

from clusterbench.run.baselines import ACCEPT, ACCEPT_ALL, KEEP, chosen_series, options

ONE, TWO = {"p50": "a"}, {"p50": "a", "p99": "b"}


def test_one_regression_is_yes_or_no_and_many_can_be_chosen_from() -> None:
    assert options(ONE) == [KEEP, ACCEPT]
    assert options(TWO) == [KEEP, ACCEPT_ALL, "p50", "p99"]


@pytest.mark.parametrize(
    ("asked", "chosen", "accepted"),
    [
        (ONE, [KEEP], []),
        (ONE, [ACCEPT], ["a"]),
        (TWO, [KEEP], []),
        (TWO, [ACCEPT_ALL], ["a", "b"]),
        (TWO, ["p99"], ["b"]),
        (TWO, ["p50", "p99"], ["a", "b"]),
        (TWO, [ACCEPT_ALL, "p99"], ["a", "b"]),
        (TWO, [KEEP, "p99"], []),
    ],
)
def test_no_beside_others_is_no(asked: dict[str, str], chosen: list[str], accepted: list[str]) -> None:
    assert chosen_series(asked, chosen) == accepted
