"""A cause that a test has planted, as the first line of "why" tells it: from what a run reads of hosts and server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterbench.base.plans import changes, fingerprint
from clusterbench.history.change_test import Change
from clusterbench.history.model import Series
from clusterbench.report.week.week import SeriesVerdict
from clusterbench.report.week.why import why
from clusterbench.results.facts_compared import Side, differences
from clusterbench.spec import Platform

RUN = "20261121T200000Z-aaaaaa"
SERIES = Series(1, "key_value", "laptop", "lab_db1", "sweep", "cell", {}, "latency_ms_mean", "ms", "lower")


def first_line(
    platform: Platform,
    facts: tuple[Mapping[str, Any], Mapping[str, Any]],
    plans: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {}),
) -> str:
    """``facts``: as ``facts.json`` has them, of the last run before and of the first of the new level."""
    roles = {name: host.roles for name, host in platform.every_host.items()}
    before, after = (Side(found, {host: roles[host] for host in found["hosts"]}) for found in facts)
    texts = {fingerprint(plan): plan for side in plans for plan in side.values()}
    of_a, of_b = ({name: fingerprint(plan) for name, plan in side.items()} for side in plans)
    change = Change("regression", "slower", 8.0, (5.0, 11.0), 0.0001, RUN, 1.0, 1.08, 10, 3)
    found = tuple(differences(before, after))
    return why(SeriesVerdict(SERIES, "Latency", change, found, RUN, plans=tuple(changes(of_a, of_b, texts))))[0]
