"""What became of a cluster's instances between two looks."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.engines import instances
from clusterbench.engines.instances import place
from clusterbench.engines.state import faults, summary
from tests.engines.test_instances import CAPTURED, HOSTS


def rows(**changed: Any) -> list[dict[str, Any]]:
    placed, _ = place(CAPTURED, HOSTS)
    made = [instances.row(i, 100) for i in placed]
    made[1] |= changed
    return made


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, []),
        ({"alive": False, "started_at_s": None}, ["segment 0 on one:6101 went down"]),
        ({"status": "d"}, ["segment 0 on one:6101 went down"]),
        ({"status": "d", "role": "m"}, ["segment 0 on one:6101 went down", "segment 0 on one:6101 became a mirror"]),
        ({"started_at_s": 200}, ["segment 0 on one:6101 was restarted"]),
    ],
)
def test_what_became_of_an_instance_is_said(changed: dict[str, Any], said: list[str]) -> None:
    assert faults(rows(), rows(**changed)) == said


def test_a_mirror_that_took_over_is_reported() -> None:
    after = rows()
    after[2] |= {"role": "p"}
    assert faults(rows(), after) == ["segment 0 (mirror) on two:7101 took over as primary"]


def test_an_instance_that_came_back_is_reported_too() -> None:
    assert faults(rows(alive=False, started_at_s=None), rows(started_at_s=200)) == ["segment 0 on one:6101 came up"]


def test_a_state_is_summed_up_for_the_record() -> None:
    assert summary(rows()) == {"instances": 4, "down": [], "not_in_preferred_role": []}
    assert summary(rows(alive=False, role="m")) == {
        "instances": 4, "down": ["segment 0 on one:6101"], "not_in_preferred_role": ["segment 0 on one:6101"],
    }  # fmt: skip


def test_where_no_host_can_be_asked_nobody_is_called_dead() -> None:
    placed, _ = place(CAPTURED, {})
    unknown = [instances.row(i, None) for i in placed]
    assert {row["alive"] for row in unknown} == {None}
    assert faults(unknown, unknown) == [] and summary(unknown)["down"] == []
