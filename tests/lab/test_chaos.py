"""What `make chaos` would do: every part in every phase, every fault for every length; and one such run for real."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from clusterbench_lab.chaos.__main__ import line, table
from clusterbench_lab.chaos.faults import PARTS, part
from clusterbench_lab.chaos.people import ACTS, PRESS_AGAIN
from clusterbench_lab.chaos.runs import LOST, Told
from clusterbench_lab.chaos.scenarios import PHASES, Scenario, chosen, scenarios

LENGTHS = (5.0, 180.0, 450.0)
ALL = list(scenarios(LENGTHS))


def pairs(first: str, second: str) -> set[tuple[Any, Any]]:
    return {(getattr(one, first), getattr(one, second)) for one in ALL if one.outage_s}


def test_every_part_is_struck_in_every_phase_and_every_length_meets_every_part_and_phase() -> None:
    names = [one.name for one in PARTS if not one.is_moment]
    assert pairs("part", "phase") == set(product(names, PHASES))
    assert pairs("part", "outage_s") == set(product(names, LENGTHS))
    assert pairs("phase", "outage_s") == set(product(PHASES, LENGTHS))
    lasting = {(one.name, fault) for one in PARTS for fault in one.faults if not one.is_moment}
    assert pairs("part", "fault") == lasting


def test_people_do_everything_in_every_phase() -> None:
    done = {(one.fault, one.phase) for one in ALL if not one.outage_s}
    assert done == set(product((*ACTS, PRESS_AGAIN), PHASES))
    assert "person: delete, in the window" in [str(one) for one in ALL]


def test_some_of_them_are_chosen_by_words() -> None:
    some = chosen(ALL, ["archive", "in the window"])
    assert [str(one) for one in some] == [f"archive: {some[0].fault} for {some[0].outage_s:g} s, in the window"]


def test_a_fault_that_a_part_cannot_have_is_refused() -> None:
    assert "cut" not in part("scheduler").faults


def test_the_table_counts_what_is_lost_and_what_started_twice() -> None:
    at = Scenario("archive", "kill", "at the seal", 5.0)
    told = [
        Told(at, "valid", 3, 3, 1, waited=["archive (seal_archive)"]),
        Told(at, LOST, 0, 3, 0, ["the DAG run is running"]),
        Told(at, "valid", 3, 3, 2),
    ]
    assert [one.is_lost for one in told] == [False, True, True]
    lines = table(told).splitlines()
    assert lines[2] == "| archive | kill | at the seal | 5 s | valid, 3 of 3 | waited for archive (seal_archive) |"
    assert lines[-1] == "3 runs, 2 LOST, 1 with a driver that was started twice"
    assert line(told[1]).startswith("archive: kill for 5 s, at the seal: LOST, 0 of 3 completed, 0 s: the DAG run is")


@pytest.mark.parametrize("lengths", [(5.0,), (1.0, 2.0)])
def test_fewer_lengths_do_as_well(lengths: tuple[float, ...]) -> None:
    assert {one.outage_s for one in scenarios(lengths)} == {0.0, *lengths}
