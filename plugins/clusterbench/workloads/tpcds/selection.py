"""The two tests: ``full``, all 99 queries, and ``lite``, the 51 fastest of them (paper 004, "Testing tool").

The paper does not name its 51. Ours were measured once, with one stream on the reference platform, and are kept in
``include/sql/tpcds/lite.yaml`` with the times that chose them, so that lite is the same everywhere and every week.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from statistics import median
from typing import Annotated

from pydantic import Field, model_validator

from clusterbench.base.errors import SpecError
from clusterbench.base.paths import own_or_built_in
from clusterbench.base.records import TrialRecord
from clusterbench.spec.loading import Strict, load
from clusterbench.workloads.tpcds.queries import QUERIES

LITE_QUERIES = 51
FILE = "include/sql/tpcds/lite.yaml"


class Selection(Strict):
    """Where it was measured, and every query's median time in seconds; the fastest are the test."""

    platform: str
    """The platform on which the queries were measured."""
    run: str
    """The run that measured them."""
    scale_factor: float
    """The size of the data."""
    repetitions: int
    """How often each query was measured."""
    time_s: dict[Annotated[int, Field(ge=1, le=99)], Annotated[float, Field(gt=0)]]
    """For each query: its median time in seconds. The 51 fastest are the test `lite`."""

    @model_validator(mode="after")
    def _has_all(self) -> Selection:
        if missing := [query for query in QUERIES if query not in self.time_s]:
            raise ValueError(f"time_s: no time of query {', '.join(map(str, missing))}; all 99 have to be measured")
        return self

    @property
    def queries(self) -> list[int]:
        return sorted(sorted(QUERIES, key=lambda query: (self.time_s[query], query))[:LITE_QUERIES])


@cache
def lite() -> Selection:
    return load(own_or_built_in(FILE), Selection)


def queries_of(test: str) -> list[int]:
    return list(QUERIES) if test == "full" else lite().queries


def select(run: str, platform: str, records: Iterable[TrialRecord]) -> Selection:
    """From the run's completed trials of all 99 queries with one stream. Raises SpecError where there are none."""
    measured = [
        record
        for record in records
        if record.trial.platform == platform
        and record.outcome == "completed"
        and (record.trial.workload, record.trial.levels.get("test"), record.trial.levels.get("streams"))
        == ("tpcds", "full", 1)
    ]
    if not measured:
        raise SpecError(
            [f"run {run}: no completed trial of all 99 queries with one stream on platform {platform!r}; measure one"]
        )
    times: dict[int, list[float]] = {}
    for record in measured:
        for one in record.evidence["driver"]["queries"]:
            times.setdefault(one["query"], []).append(one["time_s"])
    return Selection(
        platform=platform,
        run=run,
        scale_factor=float(measured[0].trial.levels["scale_factor"]),
        repetitions=len(measured),
        time_s={query: median(found) for query, found in sorted(times.items())},
    )


def as_yaml(selection: Selection) -> str:
    times = [f"  {query}: {time_s}" for query, time_s in selection.time_s.items()]
    return "\n".join(
        [
            "# What the test lite is made of: the 51 fastest queries, by these medians. Measured once, by",
            "# `clusterbench lite`, and kept: another selection would be another test.",
            f"platform: {selection.platform}",
            f"run: {selection.run}",
            f"scale_factor: {selection.scale_factor}",
            f"repetitions: {selection.repetitions}",
            "time_s:",
            *times,
            "",
        ]
    )
