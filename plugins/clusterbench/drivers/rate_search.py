"""The search for the highest rate at which responses stay below a limit. Pure.

An open loop: transactions begin by a schedule, and a response is from the scheduled start. First all clients go as fast
as they can, which is more than any rate can be. Then the range between a rate that was held below the limit and one
that was not is halved until it is narrow.

Short steps do not say it all: near the limit the 99th percentile of a window is that of its worst second, and a long
window has more seconds. So steps as long as the trial's window decide from then on, on both sides: a rate that is held
as often as ``CONFIRMED``, and never missed at it or below, and a rate that is missed as often, and never held at it or
above. Where they disagree with the short ones, the next rate is further and further away. What is told lies ``NARROW``
outside of both: how far it has to lie was simulated (clusterbench_lab/bench/rate_search.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

STEPS_MAX = 40
NARROW = 1.05
"""A rate that was held, and one that was not and is at most so many times as high: between them short steps end."""
FIRST_SHARE = 0.7
"""Of what all clients can do as fast as they can: the first rate that is tried."""
LEAST_SHARE = 0.01
"""Below such a share of it no rate is looked for."""
HELD_SHARE_MIN = 0.97
"""With a smaller share of the rate than this the server did not keep up, whatever the responses of those that began."""
LONG_MIN, LONG_MAX = 3, 10
"""Steps that decide are as long as the trial's window, and so many times a short step at least and at most."""
CONFIRMED = 3
"""So many of them on each side."""
FURTHER = 1.1
"""How much further away the next rate is where a long step disagrees; then the square of it, and so on."""
TOLERANCE = 1.1
"""Times the limit that the 99th percentile of the measured window may be: it is another sample."""


def long_of(window_s: float, probe_s: float) -> int:
    """How many short steps a long one is."""
    return min(LONG_MAX, max(LONG_MIN, math.ceil(window_s / probe_s)))


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
    """``above_per_s``: a rate that does not stay below the limit; the highest that does is between the two."""

    rate_per_s: float
    above_per_s: float


@dataclass(frozen=True)
class RateNotFound:
    reason: str


def next_rate(steps: Sequence[RateStep], limit_ms: float, long: int) -> NextRate | RateFound | RateNotFound:
    """``long``: how many short steps a long one is, by ``long_of``."""
    if not steps:
        return NextRate(0.0)
    fastest, held = steps[0], steps[1:]
    below, above = _narrowed([step for step in held if step.length < long], fastest, limit_ms)
    sides = Sides.of([step for step in held if step.length >= long], limit_ms)
    low, high = sides.confirmed_low(), sides.confirmed_high()
    if low and high:
        return RateFound(_three_digits(low / NARROW), _three_digits(high * NARROW))
    if not below or above > NARROW * below:
        wanted = NextRate(_between(below, above, 0.0 if held else fastest.throughput_per_s))
    else:
        wanted = NextRate(_three_digits(sides.next_high(above) if low else sides.next_low(below)), long)
    if len(steps) >= STEPS_MAX or wanted.rate_per_s < LEAST_SHARE * fastest.throughput_per_s:
        return _not_found(steps, limit_ms)
    return wanted


def _narrowed(short: Sequence[RateStep], fastest: RateStep, limit_ms: float) -> tuple[float, float]:
    """The highest rate that was held, 0 where none was, and the lowest that was not; a miss below a hold counts."""
    above = min((step.rate_per_s for step in short if not step.is_below(limit_ms)), default=fastest.throughput_per_s)
    below = max((step.rate_per_s for step in short if step.is_below(limit_ms) and step.rate_per_s < above), default=0.0)
    return below, above


def _between(below: float, above: float, fastest: float) -> float:
    """Half the way, as a ratio. ``fastest``: where none was tried yet."""
    return _three_digits(FIRST_SHARE * fastest if fastest else math.sqrt(below * above) if below else above / 2)


def _three_digits(rate_per_s: float) -> float:
    """So that a rate reads well."""
    return float(f"{rate_per_s:.3g}")


@dataclass(frozen=True)
class Sides:
    """The rates of long steps that stayed below the limit, and of those that did not. All per second."""

    held: tuple[float, ...]
    missed: tuple[float, ...]

    @classmethod
    def of(cls, long_steps: Sequence[RateStep], limit_ms: float) -> Sides:
        held = tuple(step.rate_per_s for step in long_steps if step.is_below(limit_ms))
        return cls(held, tuple(step.rate_per_s for step in long_steps if not step.is_below(limit_ms)))

    def confirmed_low(self) -> float | None:
        """The highest rate at or above which ``CONFIRMED`` steps were held, and at or below which none was missed."""
        return max(
            (rate for rate in self._low() if sum(other >= rate for other in self.held) >= CONFIRMED), default=None
        )

    def confirmed_high(self) -> float | None:
        return min(
            (rate for rate in self._high() if sum(other <= rate for other in self.missed) >= CONFIRMED), default=None
        )

    def next_low(self, below: float) -> float:
        """``below``: what the short steps found."""
        if self._low() or not self.missed:
            return max(self._low(), default=below)
        return min(self.missed) / _further(rate for rate in self.missed if rate <= below)

    def next_high(self, above: float) -> float:
        if self._high():
            return min(self._high())
        held_above = [rate for rate in self.held if rate >= above]
        return max(self.held) * _further(held_above) if held_above else above

    def _low(self) -> list[float]:
        return [rate for rate in self.held if rate < min(self.missed, default=math.inf)]

    def _high(self) -> list[float]:
        return [rate for rate in self.missed if rate > max(self.held, default=0.0)]


def _further(disagreeing: Iterable[float]) -> float:
    """Away from the last of the rates at which a long step disagreed with the short ones."""
    return math.pow(FURTHER, 2 ** max(0, len(set(disagreeing)) - 1))


def _not_found(steps: Sequence[RateStep], limit_ms: float) -> RateNotFound:
    held = [step for step in steps if step.rate_per_s]
    if any(step.is_below(limit_ms) for step in held):
        return _not_confirmed(held, limit_ms)
    best = min(held, key=lambda step: step.response_ms)
    return RateNotFound(
        f"no rate was found in {len(steps)} steps at which the 99th percentile from the scheduled start stays below "
        f"{limit_ms:g} ms: the lowest was {best.response_ms:.3g} ms, at {best.rate_per_s:,.4g} transactions/s; a "
        "longer 'probe_s' makes steps steadier, more 'clients' let more wait less"
    )


def _not_confirmed(held: Sequence[RateStep], limit_ms: float) -> RateNotFound:
    """Some steps were held, and no rate as often as it takes."""
    lowest = min((step for step in held if not step.is_below(limit_ms)), key=lambda step: step.rate_per_s)
    highest = max((step for step in held if step.is_below(limit_ms)), key=lambda step: step.rate_per_s)
    return RateNotFound(
        f"no rate was found at which {CONFIRMED} long steps stay below {limit_ms:g} ms, and one at which as many do "
        f"not, in {len(held)} steps: {_at(highest)} was below it, and {_at(lowest)} was not. Look for what stalls now "
        "and then, such as checkpoints or other load of the host; a longer 'probe_s' and 'window_s' make steps steadier"
    )


def _at(step: RateStep) -> str:
    said = "in a short step" if step.length == 1 else "in a long one"
    return f"a 99th percentile of {step.response_ms:.3g} ms {said}, at {step.rate_per_s:,.4g} transactions/s,"


def why_not_held(limit_ms: float, rate_per_s: float, measured_ms: float | None) -> str:
    """Why the measured window did not stay below the limit; empty where it did."""
    if measured_ms is not None and measured_ms <= TOLERANCE * limit_ms:
        return ""
    said = "is not known" if measured_ms is None else f"was {measured_ms:.3g} ms"
    return (
        f"the 99th percentile from the scheduled start {said} over the measured window, and {limit_ms:g} ms was the "
        f"limit, at {rate_per_s:,.4g} transactions/s. A longer 'probe_s' or 'window_s' makes it steadier"
    )
