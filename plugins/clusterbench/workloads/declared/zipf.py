"""Numbers of which the first are preferred: Zipf's law as YCSB draws it (Gray et al., "Quickly Generating
Billion-Record Synthetic Databases", SIGMOD 1994, 4.1.2; YCSB's ``ZipfianGenerator``)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

SUMMED = 100_000
"""So many terms are added up one by one; of the rest the integral is as good (Euler-Maclaurin), and does not last."""


@dataclass(frozen=True)
class Zipf:
    """Of the ranks 0 to ``count - 1`` the n-th has 1/n^theta of the first one's share."""

    count: int
    theta: float

    @property
    def total(self) -> float:
        """The sum of 1/n^theta."""
        return _total(self.count, self.theta)

    @property
    def second(self) -> float:
        """The sum of the first two."""
        return float(1 + 0.5**self.theta)

    @property
    def alpha(self) -> float:
        return 1 / (1 - self.theta)

    @property
    def eta(self) -> float:
        return float((1 - (2 / self.count) ** (1 - self.theta)) / (1 - self.second / self.total))

    def rank(self, uniform: float) -> int:
        """From a number of at least 0 and less than 1."""
        if self.count <= 2:
            return min(self.count - 1, int(uniform * self.total >= 1))
        reached = uniform * self.total
        if reached < self.second:
            return int(reached >= 1)
        return min(self.count - 1, int(self.count * (self.eta * uniform - self.eta + 1) ** self.alpha))

    def pgbench(self, uniform: str) -> str:
        """``rank`` as an expression of pgbench; ``uniform``: its variable."""
        if self.count <= 2:
            return f"least({self.count - 1}, case when {uniform} * {self.total!r} < 1 then 0 else 1 end)"
        power = f"pow({self.eta!r} * {uniform} - {self.eta!r} + 1, {self.alpha!r})"
        return (
            f"case when {uniform} * {self.total!r} < 1 then 0 when {uniform} * {self.total!r} < {self.second!r} then 1 "
            f"else least({self.count - 1}, int({self.count} * {power})) end"
        )


@cache
def _total(count: int, theta: float) -> float:
    summed = min(count, SUMMED)
    found = float(sum(n**-theta for n in range(1, summed + 1)))
    if count > summed:
        found += (count ** (1 - theta) - summed ** (1 - theta)) / (1 - theta) + (count**-theta - summed**-theta) / 2
    return float(found)
