"""A trial, and what it leaves behind: outcome, measurements, evidence. A record repeats its trial: it stands alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from clusterbench.base.factors import Level

Outcome = Literal["completed", "failed", "timed_out", "invalid", "not_applicable", "not_needed"]
FINDINGS: tuple[Outcome, ...] = ("failed", "timed_out")
"""Outcomes that say something about the system under test, where ``invalid`` says it about the measurement."""

FORMAT_VERSION = 1


NOT_MEASURED: tuple[Outcome, ...] = ("not_applicable", "not_needed")
"""Outcomes without a measurement, and without anything that went wrong."""


@dataclass(frozen=True)
class Until:
    """Repetitions of a cell that go on until the ``measurement`` is firm: see ``results/firmness.py``."""

    at_least: int
    at_most: int
    until_percent: float
    measurement: str


@dataclass(frozen=True)
class Trial:
    """One workload at one level of each factor, once. ``id`` is its readable parts joined."""

    id: str
    label: str
    platform: str
    sweep: str
    workload: str
    levels: dict[str, Level]
    repetition: int
    seed: int
    """Seed of the dataset and of the driver; the same keys are looked up on every platform."""
    timeout_s: int
    settings: dict[str, str]
    """Engine settings of the experiment, for every session of the driver."""
    ramp: str = ""
    """What is measured in one go, in rising concurrency; empty for a trial on its own."""
    give_up_after: int | None = None
    lead_in: bool = False
    """It only leaves behind what trials whose caches are ``as_left`` find; no result is made of it."""
    profiled: bool = False
    """What its hosts' processors run is sampled meanwhile, which takes time; no result is made of it."""
    not_applicable: str = ""
    """Why it cannot be had, where the platform's file alone tells that; empty where nothing is against it."""
    until: Until | None = None
    """When repetitions of its cell are enough; None where their number is fixed."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Trial:
        """Up to version 0.2 ``ramp`` was called ``series``."""
        until = data.get("until")
        today = {"ramp" if key == "series" else key: value for key, value in data.items()}
        return cls(**{**today, "until": Until(**until) if until else None})

    @property
    def makes_result(self) -> bool:
        return not (self.lead_in or self.profiled)

    @property
    def cell(self) -> str:
        """The trial without its repetition: what is repeated."""
        return self.id.rsplit(".r", 1)[0]

    @property
    def cell_label(self) -> str:
        return self.label.rsplit(" (#", 1)[0]


@dataclass(frozen=True)
class TrialRecord:
    """``phases_s`` are seconds by the worker's clock, for the pipeline's own cost; no result is made of them."""

    trial: Trial
    outcome: Outcome
    reason: str
    measurements: Mapping[str, float] = field(default_factory=dict)
    samples: int = 0
    errors: int = 0
    window_start_s: float | None = None
    window_end_s: float | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    telemetry: Mapping[str, Any] = field(default_factory=dict)
    phases_s: Mapping[str, float] = field(default_factory=dict)
    started_at: str = ""
    driver_starts: int = 0
    """How often the driver was started: 1, or 0 where it never got so far. Never more."""

    def as_json(self) -> dict[str, Any]:
        return {"format": FORMAT_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TrialRecord:
        rest = {key: value for key, value in data.items() if key not in ("trial", "format")}
        return cls(trial=Trial.from_json(data["trial"]), **rest)
