"""What the processors ran in a run's profiled trials: a flame graph of each, and the functions that ran most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from clusterbench.base.archive import RunArchive
from clusterbench.base.errors import ClusterbenchError
from clusterbench.base.records import TrialRecord
from clusterbench.report.flame_graph import draw, for_page
from clusterbench.results.gather import Gathered
from clusterbench.results.profiles import ProfileOfTrial, profiles_of

SHOWN_MAX = 12
"""Flame graphs of a page: each is some 200 KB."""
FUNCTIONS = 12
FEW = 400
"""Samples: with as many, the standard deviation of a share of a tenth is 15 % of it."""


@dataclass(frozen=True)
class ShownProfile:
    """``figure`` is None where nothing was sampled, or it cannot be drawn here; ``problems`` say why."""

    label: str
    platform: str
    hosts: str
    samples: int
    busy_share: float | None
    figure: Markup | None
    functions: list[tuple[str, float]]
    problems: list[str]

    @property
    def is_short(self) -> bool:
        return 0 < self.samples < FEW


def shown_profiles(archive: RunArchive, run: Gathered) -> list[ShownProfile]:
    return [_shown(one) for one in profiles_of(archive, _profiled(run)[:SHOWN_MAX])]


def others(run: Gathered) -> list[str]:
    """Profiled trials that are not shown, for want of room."""
    trials = [record.trial for record in _profiled(run)[SHOWN_MAX:]]
    return [f"{trial.platform}, {trial.cell_label}" for trial in trials]


def _profiled(run: Gathered) -> list[TrialRecord]:
    """In the order of the results: by cell, platforms beside each other."""
    order = {result.cell: number for number, result in enumerate(run.results)}
    found = [record for record in run.without_result if record.trial.profiled]
    return sorted(found, key=lambda record: (order.get(record.trial.cell, 0), record.trial.platform))


def _shown(one: ProfileOfTrial) -> ShownProfile:
    problems, figure = one.problems, None
    if one.profile:
        try:
            figure = Markup(for_page(draw(one.profile, "")))  # noqa: S704  drawn by a tool that escapes what it is given
        except ClusterbenchError as error:
            problems = [*problems, str(error)]
    samples, idle = (int(one.told.get(name) or 0) for name in ("samples", "idle_samples"))
    return ShownProfile(
        one.trial.cell_label,
        one.trial.platform,
        _named(one.told.get("hosts") or []),
        samples,
        samples / (samples + idle) if samples + idle else None,
        figure,
        list(one.profile.own_shares().items())[:FUNCTIONS] if one.profile else [],
        problems,
    )


def _named(hosts: Sequence[str]) -> str:
    return ", ".join(hosts[:3]) + (f" and {len(hosts) - 3} others" if len(hosts) > 3 else "")
