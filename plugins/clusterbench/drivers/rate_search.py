"""The search for the highest rate at which responses stay below a limit. Pure.

An open loop: transactions begin by a schedule, and a response is from the scheduled start. First all clients go as fast
as they can, which is more than any rate can be. Then the range between a rate that was held below the limit and one
that was not is halved until it is narrow, and the lower end is tried for longer: near the limit a short step says
little of a 99th percentile. A rate that fails once is not tried again, and what is found is lower.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

STEPS_MAX = 18
NARROW = 1.05
"""A rate that was held, and one that was not and is at most so many times as high: between them the search ends."""
FIRST_SHARE = 0.7
"""Of what all clients can do as fast as they can: the first rate that is tried."""
LEAST_SHARE = 0.01
"""Below such a share of it no rate is looked for."""
HELD_SHARE_MIN = 0.97
"""With a smaller share of the rate than this the server did not keep up, whatever the responses of those that began."""
LONG = 3
"""Steps that confirm a rate are so many times as long."""
CONFIRMED = 2
"""So many of them."""
TOLERANCE = 1.1
"""Times the limit that the 99th percentile of the measured window may be: it is another sample."""


@dataclass(frozen=True)
class RateStep:
    """A rate that was tried; 0: as fast as it goes, and then ``response_ms`` is the latency."""

    rate_per_s: float
    length: int
    throughput_per_s: float
    response_ms: float

    def is_below(self, limit_ms: float) -> bool:
        return self.throughput_per_s >= HELD_SHARE_MIN * self.rate_per_s and self.response_ms <= limit_ms


@dataclass(frozen=True)
class NextRate:
    rate_per_s: float
    length: int = 1


@dataclass(frozen=True)
class RateFound:
    """``above_per_s``: the lowest rate that did not stay below the limit; what can be had is between the two."""

    rate_per_s: float
    above_per_s: float


@dataclass(frozen=True)
class RateNotFound:
    reason: str


def next_rate(steps: Sequence[RateStep], limit_ms: float) -> NextRate | RateFound | RateNotFound:
    if not steps:
        return NextRate(0.0)
    fastest, held = steps[0], steps[1:]
    above = min((step.rate_per_s for step in held if not step.is_below(limit_ms)), default=fastest.throughput_per_s)
    below = max((step.rate_per_s for step in held if step.is_below(limit_ms) and step.rate_per_s < above), default=0.0)
    long = [step for step in held if step.rate_per_s == below and step.length >= LONG]
    if below and above <= NARROW * below and len(long) >= CONFIRMED:
        return RateFound(below, above)
    if len(steps) >= STEPS_MAX:
        return RateFound(below, above) if long else _not_found(steps, limit_ms)
    if below and above <= NARROW * below:
        return NextRate(below, LONG)
    wanted = _between(below, above, fastest.throughput_per_s if not held else 0.0)
    if wanted < LEAST_SHARE * fastest.throughput_per_s:
        return _not_found(steps, limit_ms)
    return NextRate(wanted)


def _between(below: float, above: float, fastest: float) -> float:
    """Half the way, as a ratio; to three digits, so that a rate reads well. ``fastest``: where none was tried yet."""
    wanted = FIRST_SHARE * fastest if fastest else math.sqrt(below * above) if below else above / 2
    return float(f"{wanted:.3g}")


def _not_found(steps: Sequence[RateStep], limit_ms: float) -> RateNotFound:
    held = [step for step in steps if step.rate_per_s]
    if below := [step for step in held if step.is_below(limit_ms)]:
        return _not_confirmed(held, max(below, key=lambda step: step.rate_per_s).rate_per_s, limit_ms)
    best = min(held, key=lambda step: step.response_ms)
    return RateNotFound(
        f"no rate was found in {len(steps)} steps at which the 99th percentile from the scheduled start stays below "
        f"{limit_ms:g} ms: the lowest was {best.response_ms:.3g} ms, at {best.rate_per_s:,.4g} transactions/s; a "
        "longer 'probe_s' makes steps steadier, more 'clients' let more wait less"
    )


def _not_confirmed(held: Sequence[RateStep], rate_per_s: float, limit_ms: float) -> RateNotFound:
    """``rate_per_s``: the highest at which responses stayed below the limit in a step."""
    seen = " and ".join(f"{step.response_ms:.3g} ms" for step in held if step.rate_per_s == rate_per_s)
    return RateNotFound(
        f"no rate was confirmed in {len(held)} steps to stay below {limit_ms:g} ms: at {rate_per_s:,.4g} "
        f"transactions/s the 99th percentile from the scheduled start was {seen}. Look for what stalls now and then, "
        "such as checkpoints or other load of the disk; a longer 'probe_s' makes steps steadier"
    )


def why_not_held(limit_ms: float, rate_per_s: float, measured_ms: float | None) -> str:
    """Why the measured window did not stay below the limit; empty where it did."""
    if measured_ms is not None and measured_ms <= TOLERANCE * limit_ms:
        return ""
    said = "is not known" if measured_ms is None else f"was {measured_ms:.3g} ms"
    return (
        f"the 99th percentile from the scheduled start {said} over the measured window, and {limit_ms:g} ms was the "
        f"limit, at {rate_per_s:,.4g} transactions/s. A longer 'probe_s' or 'window_s' makes it steadier"
    )
