"""A series over time -> whether its level has changed: worse, better, or not shown. Pure.

How it judges. Only valid runs with a number count, and of these the last ``WINDOW`` since the accepted baseline. All is
done on logarithms, so that a change is a ratio.

1. Otava's change points cut the series into levels: what has lasted for a while. Of few new runs they either miss a 5 %
   step at 2 % noise or find steps in noise (docs/method.md has the rates of both), so
2. the last two to five runs are tested against the level before them: Student's t with Johnson's correction for skew,
   as response times have a tail to the right, and three runs of the tail are no new level. Runs that neither
   agree among themselves nor lie beyond all of the level before are no new level either. Of only two new runs both is
   asked: that they agree and that they lie beyond it. One run alone is never a new level.
3. Where runs of the platform are like the runs before them (``drift``), a mean is less sure, and the test knows it.
4. A difference that is shown (``P_MAX``) counts where its 95 % interval reaches the threshold. So a change as large as
   the threshold counts as soon as it is seen, and one that is shown to be smaller is no regression.

The last change decides. A regression stays one until it is mended, accepted as the baseline, or ``WINDOW`` runs old; an
improvement is the new normal after a while.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from clusterbench.base.measurements import Better
from clusterbench.history import drift
from clusterbench.history.model import Baseline, Point
from clusterbench.results.judgement import is_speed
from clusterbench.spec.experiment import RUNS_MAX, Regression

if TYPE_CHECKING:
    from numpy.typing import NDArray

WINDOW = RUNS_MAX
"""Runs looked at: a year and a half of weeks."""
P_MAX = {2: 0.0003, 3: 0.0035, 4: 0.0006, 5: 0.0006}
"""By the number of new runs, two-sided. Most of the allowance is for three: with these the judge ever says "regression"
in 5 of 100 years of pure noise."""
P_MAX_LEVEL = 0.0003
"""For otava's change points, which are the largest of many possible ones."""
P_OTAVA = 0.001
"""What otava itself is asked for: more of them, as levels that go up and down again hide each other from it."""
ROUNDING = 1e-6
RANGE_MAX = {2: 2.5, 3: 3.2, 4: 3.5, 5: 3.8}
"""Standard deviations between the lowest and the highest of the new runs; beyond it they are no level."""
P_SEEN = 0.01
"""A difference of this, which does not count, is told as one."""
T_CORRECTED = 4.0
"""The correction for skew is a series in t, of no meaning beyond."""
NOISE_MIN = 0.001
"""As a share: what is smaller is rather the clock than the cluster, and a series without noise has no test."""
SMALLEST = 1e-3
"""Of the median: what a value of 0 counts as, since it has no logarithm."""
RUNS_BEFORE_LESS = 3
"""So many runs less than ``runs_min`` are enough for the level before."""

NEWS_RUNS = 8
"""An improvement older than this is how things are."""

FALSE_SHARE = 0.1
CHANCES = 2
"""A series has two chances or so to look changed, as several splits of it are tried."""
CHANGED = ("regression", "improvement")
UNJUDGED = ("too_few", "no_number")

State = Literal["regression", "improvement", "no_change", "too_few", "no_number"]


@dataclass(frozen=True)
class Policy:
    """What an experiment says of it in YAML: ``regression``."""

    threshold_percent: float = 5.0
    runs_min: int = 10
    alike: float = 0.0
    """How much a run is like the one before it (``drift.alikeness``), which no experiment says."""

    @classmethod
    def of(cls, declared: Regression, alike: float = 0.0) -> Policy:
        return cls(declared.threshold_percent, declared.runs_min, alike)


@dataclass(frozen=True)
class Change:
    """The verdict on a series' last run. ``before`` and ``after``: geometric means of the runs' medians.

    ``change_percent`` is of the number itself: +5 is worse for a response time, better for a throughput. Where
    nothing changed the numbers are those of the newest runs that came nearest to a change.
    ``at_run_id``: first run of the new level; for ``no_number`` the first of the runs without one.
    """

    state: State
    says: str
    change_percent: float | None = None
    interval_95_percent: tuple[float, float] | None = None
    p_value: float | None = None
    at_run_id: str | None = None
    before: float | None = None
    after: float | None = None
    runs_before: int = 0
    runs_after: int = 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Change:
        bounds = data["interval_95_percent"]
        return cls(**{**data, "interval_95_percent": (bounds[0], bounds[1]) if bounds else None})


@dataclass(frozen=True)
class ChangePoint:
    """Where a level ends and the next begins, for charts."""

    run_id: str
    started_at: datetime
    change_percent: float
    before: float
    after: float


@dataclass(frozen=True)
class _LevelTest:
    """Two neighbouring levels, as indices [start, at) and [at, end), and what the test says of their difference."""

    at: int
    runs_before: int
    runs_after: int
    before: float
    after: float
    error: float
    quantile: float
    p: float

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def interval(self) -> tuple[float, float]:
        reach = self.quantile * self.error
        return _in_percent(self.difference - reach), _in_percent(self.difference + reach)

    @property
    def is_shown(self) -> bool:
        return self.p <= P_MAX.get(self.runs_after, P_MAX_LEVEL)

    def counts(self, policy: Policy) -> bool:
        low, high = self.interval
        reach = high if self.difference > 0 else -low
        return self.is_shown and reach >= policy.threshold_percent


def detect_change(
    points: Sequence[Point], better: Better, policy: Policy, baseline: Baseline | None = None, unit: str = ""
) -> Change:
    """``points`` in order of time; the last is the run that is judged. ``unit``: for the words; a time if not given."""
    since = _since(points, baseline)
    counted = [point for point in since if point.counts][-WINDOW:]
    last = since[-1] if since else None
    if counted and last and last.median is None and not last.withdrawn:
        return _no_number(since)
    if len(counted) < policy.runs_min:
        return Change("too_few", _too_few(counted, policy, baseline), runs_after=len(counted))
    values = logs_of(counted)
    steps = _steps(values, policy)
    step = next((one for one in steps if one.counts(policy)), None)
    invalid = _not_counted(since[-1])
    if step is None:
        steps = steps or [_test(values[:-3], values[-3:], len(values) - 3, policy.alike)]
        seen = min(steps, key=lambda one: one.p)
        return _change("no_change", seen, counted, _nothing(seen, policy, len(counted)) + invalid)
    state = _state(step, better)
    says = _sentence(step, better, counted[step.at], unit)
    if state == "improvement" and step.runs_after > NEWS_RUNS:
        state, says = "no_change", f"no change of late; {says}"
    return _change(state, step, counted, says + invalid)


def _not_counted(last: Point) -> str:
    if last.withdrawn:
        return f" The last run is not counted: {last.withdrawn.rstrip('.')}."
    return "" if last.is_valid else " The last run is not valid and not counted."


def change_points(points: Sequence[Point], policy: Policy, baseline: Baseline | None = None) -> list[ChangePoint]:
    """All levels of the series as of its last run, for charts; ``judge`` tells of the last of them."""
    counted = [point for point in _since(points, baseline) if point.counts][-WINDOW:]
    if len(counted) < policy.runs_min:
        return []
    values = logs_of(counted)
    step = next((one for one in _steps(values, policy) if one.counts(policy)), None)
    starts = [at for at in _levels(values, policy) if step is None or at < step.at - step.runs_before + 1]
    steps = [step] if step else []
    for begin, at, end in zip([0, *starts], starts, [*starts[1:], step.at if step else len(values)], strict=False):
        steps.append(_test(values[begin:at], values[at:end], at, policy.alike))
    return [
        ChangePoint(
            counted[one.at].run_id,
            counted[one.at].started_at,
            _in_percent(one.difference),
            math.exp(one.before),
            math.exp(one.after),
        )
        for one in sorted(steps, key=lambda one: one.at)
        if one.counts(policy)
    ]


def control_false_discoveries(found: Sequence[Change]) -> list[Change]:
    """The same, of all series that were judged at once: what may well be one of many chances is told as no change yet.

    Benjamini and Hochberg 1995: of what is told as newly changed, at most ``FALSE_SHARE`` is expected to be chance.
    What changed earlier stays as it was found, and does not count: many of its p are tiny, and would let chance pass.
    """
    judged = sum(change.state not in UNJUDGED for change in found)
    told = sorted((CHANCES * (change.p_value or 0), at) for at, change in enumerate(found) if is_new(change))
    held = max((rank for rank, (p, _) in enumerate(told, 1) if p <= FALSE_SHARE * rank / judged), default=0)
    result = list(found)
    for _, at in told[held:]:
        says = f"no change yet: {found[at].says.rstrip('.')}; but of {judged} results some look like this by chance."
        result[at] = replace(found[at], state="no_change", says=says)
    return result


def is_new(change: Change) -> bool:
    return change.state in CHANGED and change.runs_after <= max(P_MAX)


# What counts.


def baseline_of(accepted: Sequence[Baseline], points: Sequence[Point]) -> Baseline | None:
    """Of those accepted the last that begins with one of these runs: another's level is that of all, or none's."""
    runs = {point.run_id for point in points}
    return next((one for one in reversed(accepted) if one.from_run_id in runs), None)


def _since(points: Sequence[Point], baseline: Baseline | None) -> Sequence[Point]:
    """From the accepted run on. Where it is not among them the points are all later, or there is none."""
    if baseline is not None:
        for number, point in enumerate(points):
            if point.run_id == baseline.from_run_id:
                return points[number:]
    return points


def logs_of(points: Sequence[Point]) -> NDArray[Any]:
    """Of the last ``WINDOW`` valid runs with a number, the logarithms of their medians."""
    import numpy as np  # noqa: PLC0415

    values = np.array([point.median for point in points if point.counts][-WINDOW:], dtype=float)
    if not len(values):
        return values
    smallest = SMALLEST * float(np.median(np.abs(values))) or SMALLEST
    logs: NDArray[Any] = np.log(np.maximum(values, smallest))
    return logs


def level_before(points: Sequence[Point], policy: Policy, baseline: Baseline | None, change: Change) -> NDArray[Any]:
    """Logarithms of the runs that the newest are compared with: those before the change, or before the last run."""
    counted = [point for point in _since(points, baseline) if point.counts][-WINDOW:]
    values = logs_of(counted)
    if change.state in CHANGED:
        at = next(number for number, point in enumerate(counted) if point.run_id == change.at_run_id)
        return values[max(0, at - change.runs_before) : at]
    before = values[:-1]
    return before[([0, *_levels(before, policy)])[-1] :] if len(before) > 1 else before


# Levels and their test.


def _steps(values: NDArray[Any], policy: Policy) -> list[_LevelTest]:
    """Where the level may have changed, in the order in which they are asked whether they count.

    The newest runs against the last level; then that level against the one before. Where neither counts, the change
    point between the two is taken back: they are one level, and the newest runs are tested against all of it.
    """
    runs_before = max(2, policy.runs_min - RUNS_BEFORE_LESS)
    starts = [0, *_levels(values, policy)]
    found = []
    while starts:
        begin = starts.pop()
        found += _newest_steps(values, begin, runs_before, policy.alike)
        if starts and begin - starts[-1] >= runs_before:
            found.append(_test(values[starts[-1] : begin], values[begin:], begin, policy.alike))
    return found


def _newest_steps(values: NDArray[Any], begin: int, runs_before: int, alike: float) -> list[_LevelTest]:
    """Of the last two to five runs those splits that may be levels, the one that is shown best first."""
    splits = [len(values) - count for count in P_MAX if len(values) - count - begin >= runs_before]
    levels = [at for at in splits if _is_level(values[begin:at], values[at:])]
    return sorted((_test(values[begin:at], values[at:], at, alike) for at in levels), key=lambda step: step.p)


def _is_level(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Whether the new runs agree among themselves, or lie beyond all that were before; two of them must do both."""
    agree = right.max() - right.min() <= RANGE_MAX[len(right)] * max(left.std(ddof=1), NOISE_MIN)
    beyond = right.min() > left.max() or right.max() < left.min()
    return bool(agree and beyond if len(right) == 2 else agree or beyond)


def _levels(values: NDArray[Any], policy: Policy) -> list[int]:
    """Where otava sees new levels begin, but for the newest runs, which have a test of their own."""
    import numpy as np  # noqa: PLC0415
    from otava.analysis import compute_change_points  # noqa: PLC0415

    numbers = np.exp(values)
    if not _is_split(numbers):
        return []
    found, _ = compute_change_points(
        numbers.tolist(),
        window_len=2 * len(values),  # at once: a window of its own takes three times as long
        max_pvalue=P_OTAVA,
        min_magnitude=policy.threshold_percent / 100 / 2,
    )
    return [point.index for point in found if len(values) - point.index > max(P_MAX)]


def _is_split(numbers: NDArray[Any]) -> bool:
    """Whether any cut in two passes the first of otava's tests, or else it finds nothing: most series are not for it.

    As there: Student's t of 10 times the p asked for, with variances that are divided by n.
    """
    import numpy as np  # noqa: PLC0415
    from scipy.special import stdtrit  # noqa: PLC0415

    n = len(numbers)
    left = np.arange(1, n)
    sums, squares = np.cumsum(numbers), np.cumsum(numbers**2)
    means = sums[:-1] / left, (sums[-1] - sums[:-1]) / (n - left)
    variances = squares[:-1] / left - means[0] ** 2, (squares[-1] - squares[:-1]) / (n - left) - means[1] ** 2
    pooled = ((left - 1) * variances[0] + (n - left - 1) * variances[1]) / (n - 2)
    error = np.sqrt(np.maximum(pooled, 0) * (1 / left + 1 / (n - left)))
    limit = (1 - ROUNDING) * stdtrit(n - 2, 1 - 10 * P_OTAVA / 2)
    return bool((np.abs(means[1] - means[0]) >= limit * error).any())


def _test(left: NDArray[Any], right: NDArray[Any], at: int, alike: float) -> _LevelTest:
    """Student's t, two-sided. Where the level before is skewed towards the change, t is taken down (Johnson 1978)."""
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415

    n, k = len(left), len(right)
    freedom = drift.freedom_left(n + k - 2, alike)
    squares = float(((left - left.mean()) ** 2).sum() + ((right - right.mean()) ** 2).sum())
    of_means = drift.variance_of_mean(n, alike) + drift.variance_of_mean(k, alike)
    error = max(math.sqrt(squares / max(1, n + k - 2)), NOISE_MIN) * math.sqrt(of_means)
    before, after = float(left.mean()), float(right.mean())
    t = abs(after - before) / error
    skew = max(0.0, math.copysign(1, after - before) * _skew(left))
    corrected = max(0.0, t - skew / (6 * math.sqrt(k)) * (min(t, T_CORRECTED) ** 2 - 1)) if t > 1 else t
    p = 2 * float(stdtr(freedom, -corrected))
    return _LevelTest(at, n, k, before, after, error, float(stdtrit(freedom, 0.975)), p)


def _skew(values: NDArray[Any]) -> float:
    deviation = values - values.mean()
    variance = float((deviation**2).mean())
    return float((deviation**3).mean()) / variance**1.5 if variance > NOISE_MIN**2 else 0.0


def _in_percent(log_ratio: float) -> float:
    return 100 * math.expm1(log_ratio)


# Words.


def _state(step: _LevelTest, better: Better) -> State:
    if better == "neither":
        return "no_change"
    return "regression" if (step.difference > 0) == (better == "lower") else "improvement"


def _change(state: State, step: _LevelTest, counted: Sequence[Point], says: str) -> Change:
    return Change(
        state,
        says,
        change_percent=_in_percent(step.difference),
        interval_95_percent=step.interval,
        p_value=step.p,
        at_run_id=counted[step.at].run_id,
        before=math.exp(step.before),
        after=math.exp(step.after),
        runs_before=step.runs_before,
        runs_after=step.runs_after,
    )


def _sentence(step: _LevelTest, better: Better, first: Point, unit: str) -> str:
    up = step.difference > 0
    words = ("slower", "faster") if not unit or is_speed(better, unit) else ("worse", "better")
    words = ("higher", "lower") if better == "neither" else words
    word = words[0] if up == (better != "higher") else words[1]
    levels = _levels_said(step, unit)
    said = f"{word}: {_amount(step)}, since {first.started_at:%Y-%m-%d} (run {first.run_id}): {levels}"
    return said + ("; neither direction is better, so it is no regression." if better == "neither" else ".")


def _nothing(step: _LevelTest, policy: Policy, runs: int) -> str:
    """Of what came nearest to a change; one that is seen and does not count is told, and why it does not."""
    threshold = f"{policy.threshold_percent:g} %"
    if step.p > P_SEEN:
        return f"no change shown in {runs} runs: the last {step.runs_after} {_amount(step)}."
    why = f"smaller than the threshold of {threshold}" if step.is_shown else "not more than chance does now and then"
    return f"no change yet: the last {step.runs_after} runs {_amount(step)}, which is {why}."


def _amount(step: _LevelTest) -> str:
    low, high = step.interval
    return f"{_in_percent(step.difference):+.1f} % (95 % interval {low:+.1f} to {high:+.1f} %, {_p(step.p)})"


def _levels_said(step: _LevelTest, unit: str) -> str:
    before, after = (f"{math.exp(level):.4g}" for level in (step.before, step.after))
    of_unit = f" {unit}" if unit not in ("", "1") else ""
    return f"from {before} ({step.runs_before} runs) to {after}{of_unit} ({step.runs_after} runs)"


def _p(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def _too_few(counted: Sequence[Point], policy: Policy, baseline: Baseline | None) -> str:
    since = f" since the level accepted by {baseline.accepted_by}" if baseline else ""
    return f"too few for a verdict: {len(counted)} of {policy.runs_min} valid runs with a number{since}."


def _no_number(points: Sequence[Point]) -> Change:
    """The last run has no number and an earlier one had: as loud as a regression."""
    last = len(points)
    while last and points[last - 1].median is None:
        last -= 1
    failed, earlier = points[last:], points[:last]
    completed = sum(point.median is not None for point in earlier)
    runs = f"this week ({failed[0].n} of {failed[0].planned})" if len(failed) == 1 else f"the last {len(failed)} times"
    says = f"no number: completed in {completed} of {len(earlier)} runs before, failed {runs}."
    return Change(
        "no_number", says, at_run_id=failed[0].run_id, runs_before=completed, runs_after=len(failed)
    )  # fmt: skip
