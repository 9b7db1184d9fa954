"""How often a search for the highest rate is right, on a made-up server whose windows differ and which drifts.

``python -m clusterbench_lab.bench.rate_search`` prints the table of docs/method.md. Real searches: ``searches``.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable

import numpy as np

from clusterbench.drivers.rate_search import NextRate, RateFound, RateNotFound, RateStep, next_rate
from clusterbench_lab.bench.tables import head, row

LIMIT_MS, BELOW_MS, ABOVE_MS = 20.0, 10.0, 300.0
FASTEST_PER_S, EDGE_PER_S = 1000.0, 900.0
LONG = 7
SHORT_NOISE = 1.5
"""Short steps differ so many times as much as windows do."""
STAYS = 0.9
"""Share of a drift that is still there a step later."""
SERVERS = ((0.0, 0.0), (0.02, 0.0), (0.05, 0.02), (0.1, 0.05), (0.1, 0.1))
"""How much windows differ, and the drift: standard deviations, as shares."""
OWN_MIN = 0.9
"""Searches whose own window is then below the limit."""


class Server:
    """The 99th percentile of a window is below the limit while the rate is below what the server can do just then."""

    def __init__(self, noise: float, drift: float, seed: int) -> None:
        self._chance, self._noise, self._drift = np.random.default_rng(seed), noise, drift
        self._now = self._chance.normal(0, drift)

    def edge_per_s(self, length: int = LONG) -> float:
        """Of the next window of that length."""
        self._now = STAYS * self._now + self._chance.normal(0, self._drift * math.sqrt(1 - STAYS**2))
        noise = self._noise * (1.0 if length >= LONG else SHORT_NOISE)
        return EDGE_PER_S * math.exp(self._now + self._chance.normal(0, noise))

    def response_ms(self, rate_per_s: float, length: int) -> float:
        return BELOW_MS if rate_per_s < self.edge_per_s(length) else ABOVE_MS


def search(
    limit_ms: float, response_ms: Callable[[float, int], float]
) -> tuple[RateFound | RateNotFound, list[RateStep]]:
    """``response_ms``: 99th percentile of a step, by its rate and its length."""
    steps = list[RateStep]()
    while isinstance(said := next_rate(steps, limit_ms, LONG), NextRate):
        rate = said.rate_per_s
        tried = RateStep(rate, said.length, min(rate, FASTEST_PER_S), response_ms(rate, said.length))
        steps.append(tried if rate else RateStep(0.0, said.length, FASTEST_PER_S, limit_ms))
    return said, steps


def judged(noise: float, drift: float, seed: int) -> tuple[bool, bool, float, int]:
    """Whether windows after the search are as it says, at its own rate and at the other, which is how many times as
    high; and how many steps it took. Nothing found is wrong."""
    server = Server(noise, drift, seed)
    found, steps = search(LIMIT_MS, server.response_ms)
    if not isinstance(found, RateFound):
        return False, False, math.inf, len(steps)
    is_held, is_missed = found.rate_per_s < server.edge_per_s(), found.above_per_s >= server.edge_per_s()
    return is_held, is_missed, found.above_per_s / found.rate_per_s, len(steps)


def measure(say: Callable[..., bool]) -> bool:
    noise, drift = SERVERS[-2]
    own = statistics.mean(judged(noise, drift, seed)[0] for seed in range(400))
    what = f"searches for a rate whose window is then below the limit; windows differ by {100 * noise:g} %"
    return say(what, own, f"at least {OWN_MIN}", holds=own >= OWN_MIN)


def main(searches: int) -> None:
    head("windows differ by", "drift", "own window is below", "and one at the other rate above", "range", "steps")
    for noise, drift in SERVERS:
        own, missed, widths, steps = zip(*(judged(noise, drift, seed) for seed in range(searches)), strict=True)
        both = [a and b for a, b in zip(own, missed, strict=True)]
        shares = (f"{100 * statistics.mean(each):.0f} %" for each in (own, both))
        width = f"{statistics.median(widths):.2f} times"
        row(f"{100 * noise:g} %", f"{100 * drift:g} %", *shares, width, f"{statistics.mean(steps):.0f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
