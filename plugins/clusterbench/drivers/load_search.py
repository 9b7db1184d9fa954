"""The search for a load that keeps the database hosts' processors as busy as asked for. Pure.

Paper 003, "CPU Utilization", raises the load until it nearly saturates the CPU, and compares systems at the same
utilisation. Here clients are added until the target is passed. Where one client more is a step too coarse, the smaller
number that passes the target is held back to a rate (``pgbench --rate``). A search ends with long steps at the load it
finds, when transactions no longer get cheaper: there is a checkpoint before every trial, and what comes after it writes
pages whole to the log at their first change (``full_page_writes``), which fades. One step alone is short and may be
disturbed, so the last few of them decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from statistics import median

TOLERANCE = 3.0
"""Points of CPU utilisation that the measured window may be away from the target."""
AIM = 1.5
"""A step's load is accepted if its CPU utilisation is at most this many points away from the target."""
STEPS_MAX = 16
HELD_MIN = 8
"""So many of these steps are kept for holding a load and seeing what it costs."""
LONG = 3
"""The last steps are this many times as long as the first. No load is given up without such a step."""
SETTLED = 3
"""The cost of a transaction is the median of so many last steps, so that one burst of other work does not move it."""
FALL_MAX = 0.03
"""If the cost falls by a greater share than this from the first of these steps to a later one, it still falls."""
NEAR = 10.0
"""Points from the target within which a transaction is taken to cost the same processor time."""
FACTOR_MAX = 8
"""Of clients from one step to the next. Utilisation rises with them in proportion at most, so no step passes by far."""
HELD_SHARE_MIN = 0.95
"""With a smaller share of the rate asked for than this, the clients are too few to hold the rate."""
RISE_MIN, CPU_RISE_MIN = 1.02, 1.0
"""More clients that bring no more transactions than so many times, nor more points of CPU: something else is full."""


@dataclass(frozen=True)
class ClientLoad:
    """``rate_per_s`` 0: every client as fast as it goes."""

    clients: int
    rate_per_s: float = 0.0

    def __str__(self) -> str:
        clients = f"{self.clients} client{'s' if self.clients > 1 else ''}"
        return f"{clients} held at {self.rate_per_s:g} transactions/s" if self.rate_per_s else clients


@dataclass(frozen=True)
class LoadStep:
    """A load that was tried, and what was seen meanwhile."""

    load: ClientLoad
    seconds: float
    cpu_percent: float
    throughput_per_s: float
    iowait_percent: float = 0.0
    driver_cpu_share: float | None = None
    transactions_per_cpu_s: float | None = None

    @property
    def cost(self) -> float:
        """Points of CPU for a transaction a second."""
        return self.cpu_percent / self.throughput_per_s


@dataclass(frozen=True)
class NextLoad:
    """The next step; ``length`` is how many times as long as the first."""

    load: ClientLoad
    length: int = 1


@dataclass(frozen=True)
class LoadFound:
    load: ClientLoad


@dataclass(frozen=True)
class LoadNotReached:
    reason: str


Advice = NextLoad | LoadFound | LoadNotReached
"""What a search says after each step."""


@dataclass(frozen=True)
class LoadSearch:
    """For a utilisation of ``target`` percent, with ``clients_max`` clients at most and steps of ``step_s``."""

    target: float
    clients_max: int
    step_s: float

    def next(self, steps: Sequence[LoadStep]) -> Advice:
        if len(steps) >= STEPS_MAX:
            return self._nearest(steps)
        if any(step.load.rate_per_s for step in steps):
            return self._hold(steps)
        seen = {step.load.clients: _percent(steps, step.load) for step in steps}
        fitting = [n for n, percent in seen.items() if abs(percent - self.target) <= AIM]
        if fitting:
            load = ClientLoad(min(fitting, key=lambda n: abs(seen[n] - self.target)))
            return LoadFound(load) if _is_settled(_at(steps, load)) else NextLoad(load, LONG)
        if above := [n for n, percent in seen.items() if percent > self.target]:
            return self._between(steps, seen, min(above))
        return self._raise(steps, seen)

    def _raise(self, steps: Sequence[LoadStep], seen: dict[int, float]) -> Advice:
        """More clients; unless there may be none, or they have brought nothing twice."""
        most = max(seen, default=0)
        if most < self.clients_max and not _is_full(steps):
            factor = max(2, min(FACTOR_MAX, int(self.target / max(seen[most], 1.0)))) if most else 1
            return NextLoad(ClientLoad(min(self.clients_max, max(1, most * factor))))
        best = ClientLoad(max(seen, key=lambda n: seen[n]))
        if seen[best.clients] >= self.target - 2 * TOLERANCE and not self._is_known(steps, best):
            return NextLoad(best, LONG)
        return self._not_reached(steps)

    def _between(self, steps: Sequence[LoadStep], seen: dict[int, float], above: int) -> Advice:
        """A number of clients between one that is too few and one that is too many; a rate, where there is none."""
        below = max((n for n in seen if n < above), default=0)
        if above - below <= 1 or len(steps) >= STEPS_MAX - HELD_MIN:
            return self._hold(steps)
        low = seen.get(below, 0.0)
        share = (self.target - low) / (seen[above] - low)
        return NextLoad(ClientLoad(min(above - 1, max(below + 1, below + round(share * (above - below))))))

    def _hold(self, steps: Sequence[LoadStep]) -> Advice:
        """The rate at which transactions, at what each costs of the processors by now, make the target."""
        held = [step for step in steps if step.load.rate_per_s]
        if not held:
            passing = [step for step in steps if step.cpu_percent > self.target]
            return NextLoad(self._held(min(step.load.clients for step in passing), passing))
        last = held[-1]
        if last.cpu_percent < self.target - TOLERANCE and _is_not_held(last):
            if last.load.clients >= self.clients_max:
                return self._not_reached(steps)
            return NextLoad(ClientLoad(min(self.clients_max, last.load.clients * 5 // 4 + 1), last.load.rate_per_s))
        near = self._near(held)
        load = self._held(last.load.clients, near or [last])
        now = self._held(last.load.clients, [last])
        off = max(abs(one.rate_per_s / load.rate_per_s - 1) * self.target for one in (last.load, now))
        if off <= TOLERANCE and _is_settled(near):
            return LoadFound(load)
        return NextLoad(load, LONG if near else 1)

    def _near(self, held: Sequence[LoadStep]) -> list[LoadStep]:
        """The last of them, as many in a row as were near the target: what was far off before was another state."""
        near = list(takewhile(lambda step: abs(step.cpu_percent - self.target) <= NEAR, reversed(held)))
        return near[::-1]

    def _held(self, clients: int, steps: Sequence[LoadStep]) -> ClientLoad:
        costs = _last_costs(steps)
        cost = median(costs) if _is_settled(steps) else costs[-1]
        return ClientLoad(clients, float(f"{self.target / cost:.4g}"))

    def _is_known(self, steps: Sequence[LoadStep], load: ClientLoad) -> bool:
        return sum(step.seconds for step in _at(steps, load)) >= LONG * self.step_s

    def _nearest(self, steps: Sequence[LoadStep]) -> LoadFound | LoadNotReached:
        """When there may be no more steps. Where the last ones were near, what they say: the window will show."""
        near = self._near([step for step in steps if step.load.rate_per_s])
        if len(near) >= SETTLED:
            return LoadFound(self._held(near[-1].load.clients, near))
        best = min((step.load for step in steps), key=lambda load: abs(_percent(steps, load) - self.target))
        same = [step.cpu_percent for step in _at(steps, best)]
        if abs(_percent(steps, best) - self.target) <= TOLERANCE and max(same) - min(same) <= NEAR:
            return LoadFound(best)
        if max(step.cpu_percent for step in steps) < self.target:
            return self._not_reached(steps)
        return LoadNotReached(
            f"no load was found in {len(steps)} steps that keeps the database hosts' CPU utilisation at "
            f"{self.target:g} %: the nearest was {_percent(steps, best):.1f} %, with {best}; a longer 'probe_s' makes "
            "steps steadier"
        )

    def _not_reached(self, steps: Sequence[LoadStep]) -> LoadNotReached:
        best = max(steps, key=lambda step: step.cpu_percent)
        return LoadNotReached(
            f"the database hosts' CPU utilisation cannot be raised to {self.target:g} %: the highest was "
            f"{best.cpu_percent:.1f} %, with {best.load}, at {best.throughput_per_s:,.4g} transactions/s; "
            + "; ".join(self._causes(steps, best))
        )

    def _causes(self, steps: Sequence[LoadStep], best: LoadStep) -> list[str]:
        """What was the matter, as far as it can be seen from outside."""
        causes = []
        if _is_full(steps):
            causes.append("more clients brought no more transactions: locks, disks or the driver limit the load first")
        if max(step.load.clients for step in steps) >= self.clients_max:
            causes.append(f"'clients' allows {self.clients_max} at most")
        causes.append(f"the hosts waited for disks for {best.iowait_percent:.0f} % of the time (iowait)")
        if best.driver_cpu_share is not None:
            causes.append(f"the driver used {best.driver_cpu_share:.0%} of its threads' processor time")
        return causes


def _at(steps: Sequence[LoadStep], load: ClientLoad) -> list[LoadStep]:
    return [step for step in steps if step.load == load]


def _percent(steps: Sequence[LoadStep], load: ClientLoad) -> float:
    """By the last steps with it: earlier ones may have been of dearer transactions."""
    same = _at(steps, load)[-SETTLED:]
    return sum(step.cpu_percent * step.seconds for step in same) / sum(step.seconds for step in same)


def _last_costs(steps: Sequence[LoadStep]) -> list[float]:
    return [step.cost for step in steps[-SETTLED:]]


def _is_settled(steps: Sequence[LoadStep]) -> bool:
    """Whether a transaction got no cheaper in the last steps, two in a row."""
    costs = _last_costs(steps)
    return len(costs) == SETTLED and min(costs) >= (1 - FALL_MAX) * costs[0]


def _is_full(steps: Sequence[LoadStep]) -> bool:
    """Whether more clients have twice brought nothing: no transactions, and no use of processors."""
    raised = sorted((step for step in steps if not step.load.rate_per_s), key=lambda step: step.load.clients)[-3:]
    return len({step.load.clients for step in raised}) == 3 and all(
        then.throughput_per_s <= one.throughput_per_s * RISE_MIN and then.cpu_percent <= one.cpu_percent + CPU_RISE_MIN
        for one, then in pairwise(raised)
    )


def _is_not_held(step: LoadStep) -> bool:
    return step.throughput_per_s < HELD_SHARE_MIN * step.load.rate_per_s
