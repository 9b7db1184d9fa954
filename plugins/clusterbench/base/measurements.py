"""What a trial observes: kinds of numbers, and what was read from a driver's raw output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Better = Literal["lower", "higher", "neither"]
"""Which direction of a measurement is better."""

DRIVER_HOST, KERNELS, SERVER, NO_CLOCK = "driver's host", "kernels of the hosts", "database server", "none"
"""Where the clock of a measurement is. ``NO_CLOCK``: it is a count, a size or a share."""


@dataclass(frozen=True)
class About:
    """What whoever reads a measurement must know; ``docs/measurements.md`` is made of it."""

    what: str
    """What it is, in a sentence or two."""
    clock: str = DRIVER_HOST
    leaves_out: str = ""
    """What a reader might think is in it, and is not."""
    family: str = ""
    """What those are called together of which there is one for each statement or transaction: "STATEMENT_s"."""


@dataclass(frozen=True)
class MeasurementKind:
    """A number that a workload observes: unit, title, and which direction is better."""

    unit: str
    title: str
    better: Better = "lower"
    statement: str = ""
    """Of which statement, transaction or phase it is the time, where a trial has several: "query 64"."""
    weight: float = 1.0
    """How often that runs beside the others: times by weights add up to what the trial is made of."""
    about: About | None = None
    """None of one whose words nobody wrote; of clusterbench's own workloads a test allows none."""


@dataclass(frozen=True)
class Phase:
    """A part of the measured window, in epoch seconds of the driver's host."""

    name: str
    start_s: float
    end_s: float
    data_bytes: float | None = None
    """The dataset's size, where what went through disks and network is to be told as a share of it."""


@dataclass(frozen=True)
class Reading:
    """What was read from a driver's raw output: measurements by name, and what was wrong with it."""

    measurements: dict[str, float]
    errors: int = 0
    samples: int = 0
    window_start_s: float | None = None
    """Epoch seconds on the client host's clock, of the first and of the last thing measured."""
    window_end_s: float | None = None
    timed_out: tuple[str, ...] = ()
    """Statements that passed a limit of their own and were ended by the server: the trial has timed out."""
    invalid: tuple[str, ...] = ()
    """Reasons why the numbers must not be believed: wrong answers, lost log lines."""
    failed: tuple[str, ...] = ()
    """Why there are ``errors``, where that is better said than by the driver: jobs ran with other parameters."""
    phases: tuple[Phase, ...] = ()
    """Where the window has parts that differ: telemetry is then summed over each."""
    details: dict[str, object] = field(default_factory=dict)
